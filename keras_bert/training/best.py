"""The best checkpoint of a run, which is kept as its result."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert.io.whole_files import is_whole, whole_folder

_SCORE = "score.json"


@dataclasses.dataclass(frozen=True)
class Selection:
    """How the best checkpoint of a run is chosen.

    Attributes:
        evaluate: Returns figures of a model, measured on held-out data.
        metric: The name of the figure that should be high.
        patience: The number of intervals without a better score after which
            the run ends; 0 for never.
    """

    evaluate: Callable[[keras.Model], Mapping[str, float]]
    metric: str
    patience: int = 0


class KeepsBest:
    """Evaluates a model and keeps the weights with the best score.

    The folder holds `model.safetensors`, the sidecars and `score.json` with
    the `score` and its `step`. A resumed run reads the score; one that starts
    does not.

    A score that is NaN, such as the correlation with a constant, is worse than
    any other.
    """

    def __init__(
        self,
        selection: Selection,
        folder: Path,
        *,
        step: int,
        interval: int,
        write: Callable[[Path, Mapping[str, str]], None],
    ):
        """`write` takes the folder and a sidecar, and writes the weights."""
        self._selection = selection
        self._folder = folder
        self._patience = selection.patience * interval
        self._write = write
        self._best: dict[str, Any] = {"step": 0, "score": None}
        folder = whole_folder(folder)
        file = folder / _SCORE
        if step and file.is_file() and is_whole(folder):
            self._best = json.loads(file.read_text(encoding="utf-8"))

    def evaluate(self, model: keras.Model, step: int) -> Mapping[str, float]:
        """Returns the figures of the model, and keeps it if it is better."""
        figures = self._selection.evaluate(model)
        score = figures[self._selection.metric]
        # Ruined weights may guess the right labels.
        is_sound = math.isfinite(figures.get("loss", 0.0))
        if is_sound and self._is_better(score):
            self._best = {
                "step": step,
                "score": None if math.isnan(score) else score,
            }
            text = json.dumps(self._best) + "\n"
            self._write(self._folder, {_SCORE: text})
        return figures

    def is_past(self, step: int) -> bool:
        """Returns whether the score has not risen for too long."""
        return 0 < self._patience <= step - self._best["step"]

    def _is_better(self, score):
        if math.isnan(score):
            return not self._best["step"]  # there must be a result
        return self._best["score"] is None or score > self._best["score"]
