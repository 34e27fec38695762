"""A task with a number for a text or a pair of texts."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.heads import REGRESSOR
from keras_bert.errors import InputError
from keras_bert.kinds.fields import find_number, numbered
from keras_bert.kinds.kind import library_metric
from keras_bert.kinds.reports import write_worst_errors
from keras_bert.kinds.settings import RegressionSettings, WindowSettings
from keras_bert.kinds.text_kind import TextKind
from keras_bert.models.heads import build_regressor
from keras_bert.training.losses import squared_error
from keras_bert.training.objectives import Objective


def _correlation(name):
    correlate = library_metric("scipy.stats", name)

    def of_numbers(gold, predicted):
        # The correlation of a single row is undefined.
        return correlate(gold, predicted)[0] if len(gold) > 1 else math.nan

    return of_numbers


class Regression(TextKind):
    """Answers with `score`, a number.

    The SavedModel takes the text fields [B] and returns `score`, float32 [B].
    Its signature `regress` follows the Regress API of TensorFlow Serving.
    """

    name = "regression"
    Settings: ClassVar[type[WindowSettings]] = RegressionSettings
    metrics = {
        "pearson": _correlation("pearsonr"),
        "spearman": _correlation("spearmanr"),
    }
    objectives = {"logits": Objective(squared_error)}
    head_names = (REGRESSOR,)
    label_dtype = "float32"
    problem_type = "regression"

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        self._range = self._label_range()

    @classmethod
    def has_head_of(cls, config):
        return (
            super().has_head_of(config)
            and config.problem_type == cls.problem_type
            and config.num_outputs == 1
        )

    def build_network(self, bert_config):
        return build_regressor(bert_config)

    def decode(self, rows, examples, outputs):
        scores = self._scores(np.stack(outputs["logits"])[:, 0]).numpy()
        return [{"score": score} for score in scores.tolist()]

    def gold(self, rows):
        smallest, largest = self._range
        values = []
        for number, row in numbered(rows):
            value = find_number(row.get("label"), number)
            if not smallest <= value <= largest:
                raise InputError(
                    f"Label {row['label']!r} of example {number} is not from "
                    f"{smallest} to {largest}, the min_value and max_value of "
                    "the answers; change these settings, or the labels."
                )
            values.append(value)
        return values

    def predicted(self, answers):
        return [answer["score"] for answer in answers]

    def submission(self, answer):
        return f"{answer['score']:.3f}"

    def write_reports(self, folder, rows, answers):
        """Writes `errors.tsv`, the largest differences first."""
        fields = self.spec.text_fields
        found = zip(self.gold(rows), self.predicted(answers), rows, strict=True)
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "difference", *fields),
            [
                (gold, score, score - gold, *(row[field] for field in fields))
                for gold, score, row in found
            ],
        )

    def served_answer(self, outputs):
        return {"score": self._scores(outputs["logits"][:, 0])}

    def _label_range(self):
        settings = self.spec.settings
        return (
            -math.inf if settings.min_value is None else settings.min_value,
            math.inf if settings.max_value is None else settings.max_value,
        )

    def _scores(self, logits):
        return tf.clip_by_value(logits, *self._range)
