"""The answers of a model to labeled rows, and their score."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from keras_bert.errors import InputError
from keras_bert.finetuning.predictor import Predictor
from keras_bert.kinds.kind import Answer, Kind
from keras_bert.tasks.base import Row


class Evaluation:
    """Scores models on one set of rows, which are encoded once."""

    def __init__(self, kind: Kind, rows: Sequence[Row], *, batch_size: int):
        if not rows:
            raise InputError("There is no row to evaluate; give labeled rows.")
        self.rows = rows
        self._kind = kind
        self._batch_size = batch_size
        self._examples = kind.encode(rows, labeled=True)
        kind.gold(rows)  # raises InputError now, not after training
        self._predictor: Predictor | None = None

    def __call__(
        self, model: keras.Model, *, tune: bool = False
    ) -> tuple[list[Answer], dict[str, float]]:
        """Returns the answers and their metrics, with the `loss`.

        There is no loss if the kind makes no labels of the rows.
        With `tune`, the kind first tunes on these rows what is not trained.
        """
        kind = self._kind
        if self._predictor is None or self._predictor.model is not model:
            self._predictor = Predictor(model, kind.objectives)
        outputs, loss = self._predictor(
            self._examples, batch_size=self._batch_size
        )
        if tune:
            outputs = kind.tune(model, self._examples, outputs)
        answers = kind.answer(self.rows, self._examples, outputs)
        figures = kind.score(self.rows, answers, kind.spec.metrics)
        return answers, figures | ({} if loss is None else {"loss": loss})
