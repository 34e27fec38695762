"""A number for a text or a pair."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.fields import encode_texts, text_signature
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.reports import write_worst_errors
from keras_bert.models.classifier import build_regressor
from keras_bert.text.packing import BertPreprocessor
from keras_bert.training.losses import squared_error
from keras_bert.training.training_model import Objective


class RegressionHead(tf.Module):
    """Answers with `prediction`, a number.

    The SavedModel takes `text` [B], or `text_a` and `text_b`, and returns
    `score` [B], the number.
    """

    objectives = {"logits": Objective(squared_error)}

    def __init__(self, spec, tokenizer):
        super().__init__(name="regression")
        self.spec = spec
        self.tokenizer = tokenizer
        self._preprocessor = BertPreprocessor(tokenizer, spec.max_seq_length)

    def build_model(self, bert_config):
        return build_regressor(bert_config)

    def encode(self, rows, *, labeled):
        labels = np.array(_gold(rows), "float32") if labeled else None
        return encode_texts(
            rows, self.spec.text_fields, self._preprocessor, labels
        )

    def decode(self, rows, examples, outputs):
        numbers = np.clip(outputs["logits"], *self.spec.value_range)
        return [{"prediction": float(x)} for (x,) in numbers]

    def score(self, rows, answers, metrics):
        gold, predicted = _gold(rows), [a["prediction"] for a in answers]
        return {
            name: float(METRICS["regression"][name](gold, predicted))
            for name in metrics
        }

    def write_reports(self, folder, rows, answers):
        fields = self.spec.text_fields
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "difference", *fields),
            [
                (
                    gold,
                    answer["prediction"],
                    answer["prediction"] - gold,
                    *(row[field] for field in fields),
                )
                for gold, row, answer in zip(
                    _gold(rows), rows, answers, strict=True
                )
            ],
        )

    def signatures(self, model):
        def answer(*texts):
            logits = model(self._preprocessor(*texts))["logits"]
            low, high = self.spec.value_range
            return {"score": tf.clip_by_value(logits[:, 0], low, high)}

        return text_signature(answer, self.spec.text_fields)


def _gold(rows):
    numbers = []
    for number, row in enumerate(rows, 1):
        try:
            numbers.append(float(row.get("label")))
        except (TypeError, ValueError):
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise InputError(
                f"Label {row.get('label')!r} of example {number} is not a "
                "number; check the reader of the task."
            )
    return numbers
