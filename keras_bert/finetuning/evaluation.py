"""A model's answers to rows that have labels, and their score."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from keras_bert.finetuning.predictor import Predictor
from keras_bert.kinds.base import Answer, Head
from keras_bert.tasks.base import Row


class Evaluation:
    """Scores models on one set of rows, which are encoded once."""

    def __init__(
        self,
        head: Head,
        rows: Sequence[Row],
        metrics: Sequence[str],
        *,
        batch_size: int,
    ):
        self.rows = rows
        self._head = head
        self._metrics = metrics
        self._batch_size = batch_size
        self._examples = head.encode(rows, labeled=True)
        self._predictor = None

    def __call__(
        self, model: keras.Model
    ) -> tuple[list[Answer], dict[str, float]]:
        """Returns the answers and their score, with the `loss`."""
        if self._predictor is None or self._predictor.model is not model:
            self._predictor = Predictor(model, self._head.objectives)
        outputs, loss = self._predictor(
            self._examples, batch_size=self._batch_size
        )
        answers = self._head.decode(self.rows, self._examples, outputs)
        figures = self._head.score(self.rows, answers, self._metrics)
        return answers, figures | {"loss": loss}
