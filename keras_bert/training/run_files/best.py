"""Which of a run's checkpoints is kept as its result: the best one."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import safetensors
from absl import logging
from safetensors import numpy as safetensors_numpy

from keras_bert.files import atomic_path, full_disk_named

_SCORE = "score.json"


@dataclasses.dataclass(frozen=True)
class Selection:
    """What the best checkpoint of a run is best in.

    Attributes:
        evaluate: Returns figures of a model, taken on held-out data.
        metric: The one of them that is to be high.
        patience: The run ends after so many intervals without a better one;
            0 for never.
    """

    evaluate: Callable[[keras.Model], Mapping[str, float]]
    metric: str
    patience: int = 0


class KeepsBest(keras.callbacks.Callback):
    """Evaluates the model after each interval, and keeps the best weights.

    Says when the run has waited long enough, but does not end it.
    Its folder gets `model.safetensors`, the sidecars and `score.json`; a run
    that goes on after an interruption reads it.
    """

    def __init__(
        self,
        selection: Selection,
        folder: Path,
        *,
        sidecars: Mapping[str, str],
        writes: bool,
    ):
        """`writes` is False in a worker that writes no files."""
        super().__init__()
        self._selection = selection
        self._folder = folder
        self._sidecars = sidecars
        self._writes = writes
        self._best = read_score(folder)

    def on_epoch_end(self, epoch, logs=None):
        metric = self._selection.metric
        figures = self._selection.evaluate(self.model)
        # For the callbacks that come after this one.
        logs |= {f"val_{name}": value for name, value in figures.items()}
        if not math.isfinite(logs.get("val_loss", 0.0)):
            return  # whatever the metric says; the run ends with an error
        if figures[metric] > self._best["score"]:
            self._best = {"interval": epoch, "score": figures[metric]}
            if self._writes:
                self._write()
        elif self.ends_run(epoch):
            logging.info(
                "Stopping: %s has not risen for %d intervals",
                metric,
                self._selection.patience,
            )

    def ends_run(self, epoch: int) -> bool:
        """Whether the interval of this number, from 0, is the last one."""
        patience = self._selection.patience
        return 0 < patience <= epoch - self._best["interval"]

    def _write(self):
        weights = {w.path: w.numpy() for w in self.model.weights}
        with (
            full_disk_named(self._folder, safetensors.SafetensorError),
            atomic_path(self._folder) as path,
        ):
            path.mkdir()
            safetensors_numpy.save_file(weights, path / "model.safetensors")
            for name, text in self._sidecars.items():
                (path / name).write_text(text, encoding="utf-8", newline="\n")
            (path / _SCORE).write_text(json.dumps(self._best) + "\n")


def read_score(folder: Path) -> dict[str, float]:
    """The best `score` so far, and the `interval` that it was reached in."""
    file = folder / _SCORE
    if not file.is_file():
        return {"interval": -1, "score": -math.inf}
    return json.loads(file.read_text(encoding="utf-8"))
