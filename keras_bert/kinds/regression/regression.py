"""A task with a number for a text or a pair of texts."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
from scipy import stats
from tensorflow.saved_model import REGRESS_METHOD_NAME, REGRESS_OUTPUTS

from keras_bert.checkpoints.heads import REGRESSOR
from keras_bert.errors import InputError
from keras_bert.kinds.fields import encode_texts, find_number, numbered
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.packed_texts import call_on_texts
from keras_bert.kinds.regression.settings import RegressionSettings
from keras_bert.kinds.reports import write_worst_errors
from keras_bert.kinds.signatures import Signature, one_graph
from keras_bert.kinds.windows import make_preprocessor, over_windows
from keras_bert.models.classifier import build_regressor
from keras_bert.training.losses import squared_error
from keras_bert.training.objectives import Objective


def _correlation(correlate):
    def of_numbers(gold, predicted):
        # The correlation of a single row is undefined.
        return correlate(gold, predicted)[0] if len(gold) > 1 else math.nan

    return of_numbers


class Regression(Kind):
    """Answers with `score`, a number.

    The SavedModel takes the text fields [B] and returns `score`, float32 [B].
    Its signature `regress` follows the Regress API of TensorFlow Serving.
    """

    name = "regression"
    Settings = RegressionSettings
    metrics = {
        "pearson": _correlation(stats.pearsonr),
        "spearman": _correlation(stats.spearmanr),
    }
    objectives = {"logits": Objective(squared_error)}
    head_names = (REGRESSOR,)

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        settings = spec.settings
        self._preprocessor = make_preprocessor(spec, tokenizer)
        self._range = (
            -math.inf if settings.min_value is None else settings.min_value,
            math.inf if settings.max_value is None else settings.max_value,
        )

    def build_model(self, bert_config):
        return over_windows(build_regressor(bert_config), self.spec.settings)

    def encode(self, rows, *, labeled):
        labels = np.array(self.gold(rows), "float32") if labeled else None
        return encode_texts(
            rows, self.spec.text_fields, self._preprocessor, labels
        )

    def decode(self, rows, examples, outputs):
        numbers = np.clip(outputs["logits"], *self._range)
        return [{"score": float(x)} for (x,) in numbers]

    def gold(self, rows):
        return [
            self._label(row.get("label"), number)
            for number, row in numbered(rows)
        ]

    def _label(self, label, number):
        value = find_number(label, number)
        smallest, largest = self._range
        if not smallest <= value <= largest:
            raise InputError(
                f"Label {label!r} of example {number} is not from {smallest} "
                f"to {largest}, the min_value and max_value of the answers; "
                "change these settings, or the labels."
            )
        return value

    def predicted(self, answers):
        return [answer["score"] for answer in answers]

    def submission(self, answer):
        return f"{answer['score']:.3f}"

    def write_reports(self, folder, rows, answers):
        """Writes `errors.tsv`, the largest differences first."""
        fields = self.spec.text_fields
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "difference", *fields),
            [
                (
                    gold,
                    answer["score"],
                    answer["score"] - gold,
                    *(row[field] for field in fields),
                )
                for gold, row, answer in zip(
                    self.gold(rows), rows, answers, strict=True
                )
            ],
        )

    def signatures(self, model):
        call = call_on_texts(model)

        def answer(*texts):
            packed = self._preprocessor.pack(*texts)
            outputs = call(packed.features)
            scores = tf.clip_by_value(outputs["logits"][:, 0], *self._range)
            return {"score": scores, **packed.how_read()}

        inputs = self.string_inputs()
        answer = one_graph(answer, inputs)

        def regress(*texts):
            return {REGRESS_OUTPUTS: answer(*texts)["score"]}

        return {
            "serving_default": Signature(answer, inputs),
            "regress": Signature(regress, inputs, method=REGRESS_METHOD_NAME),
        }
