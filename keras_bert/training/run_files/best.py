"""The best checkpoint of a run, which is kept as its result."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert.io.whole_files import is_whole, whole_folder
from keras_bert.training.distribution import is_chief
from keras_bert.training.run_files.checkpoint import (
    Holds,
    every_weight,
    write_weights,
)
from keras_bert.training.workers import value_of_chief

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
    does not. The chief writes the files and decides when the run ends.

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
        sidecars: Mapping[str, str],
        strategy: tf.distribute.Strategy,
        holds: Holds = every_weight,
    ):
        self._selection = selection
        self._folder = folder
        self._patience = selection.patience * interval
        self._sidecars = sidecars
        self._strategy = strategy
        self._holds = holds
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
            if is_chief(self._strategy):
                self._write(model)
        return figures

    def ends_run(self, step: int) -> bool:
        """Returns whether the score has not risen for too long.

        All workers must call this.
        """
        is_enough = 0 < self._patience <= step - self._best["step"]
        return bool(value_of_chief(self._strategy, is_enough))

    def _is_better(self, score):
        if math.isnan(score):
            return not self._best["step"]  # there must be a result
        return self._best["score"] is None or score > self._best["score"]

    def _write(self, model):
        score = json.dumps(self._best) + "\n"
        sidecars = {**self._sidecars, _SCORE: score}
        write_weights(model, self._folder, sidecars, self._holds)
