"""The best of several endings of a text."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import Examples
from keras_bert.kinds.fields import (
    check_fields,
    check_text,
    check_texts,
    encode_texts,
)
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.multiple_choice.packing import pack_choices
from keras_bert.kinds.reports import write_worst_errors
from keras_bert.models.multiple_choice import build_multiple_choice
from keras_bert.text.packing import BertPreprocessor, pad
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.training_model import Objective


class MultipleChoiceHead(tf.Module):
    """Answers with `prediction`, an ending's number from 0, and `scores`.

    The number is a string, as the label of a row; the scores are the
    probabilities of the endings. All rows have equally many endings.

    The SavedModel takes `context` [B] and `endings` [B, C], and returns
    `choice` [B] and `scores` [B, C]; C may be another than in training.
    """

    objectives = {"logits": Objective(cross_entropy, {"accuracy": accuracy})}

    def __init__(self, spec, tokenizer):
        super().__init__(name="multiple_choice")
        self.spec = spec
        self.tokenizer = tokenizer
        self._preprocessor = BertPreprocessor(tokenizer, spec.max_seq_length)

    def build_model(self, bert_config):
        return build_multiple_choice(bert_config, packed=True)

    def encode(self, rows, *, labeled):
        num_choices = self._num_choices(rows)
        context, endings = self.spec.text_fields
        pairs = encode_texts(
            [
                {context: row[context], endings: ending}
                for row in rows
                for ending in row[endings]
            ],
            self.spec.text_fields,
            self._preprocessor,
        )
        return Examples(
            pack_choices(pairs.features, num_choices),
            np.arange(len(rows)),
            {"logits": tf.constant(self._gold(rows))} if labeled else {},
        )

    def decode(self, rows, examples, outputs):
        scores = tf.nn.softmax(np.stack(outputs["logits"])).numpy()
        return [
            {"prediction": str(row.argmax()), "scores": row.tolist()}
            for row in scores
        ]

    def score(self, rows, answers, metrics):
        gold = self._gold(rows)
        predicted = [int(answer["prediction"]) for answer in answers]
        return {
            name: float(METRICS["multiple_choice"][name](gold, predicted))
            for name in metrics
        }

    def write_reports(self, folder, rows, answers):
        context, endings = self.spec.text_fields
        errors = []
        for row, answer in zip(rows, answers, strict=True):
            gold, predicted = int(row["label"]), int(answer["prediction"])
            if predicted != gold:
                errors.append(
                    (
                        gold,
                        predicted,
                        answer["scores"][predicted],
                        row[context],
                        row[endings][gold],
                        row[endings][predicted],
                    )
                )
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "score", context, "right", "chosen"),
            errors,
        )

    def signatures(self, model):
        def answer(context, endings):
            num_choices = tf.shape(endings)[1]
            pairs = self._preprocessor.pack(
                tf.repeat(context, num_choices), tf.reshape(endings, [-1])
            )
            logits = model(pad(pack_choices(pairs, num_choices)))["logits"]
            return {
                "choice": tf.argmax(logits, axis=-1, output_type=tf.int32),
                "scores": tf.nn.softmax(logits),
            }

        specs = [
            tf.TensorSpec([None], tf.string, "context"),
            tf.TensorSpec([None, None], tf.string, "endings"),
        ]
        return {"serving_default": (answer, specs)}

    def _num_choices(self, rows):
        context, field = self.spec.text_fields
        check_fields(rows, [field])
        check_texts(rows, [context])
        num_choices = None
        for number, row in enumerate(rows, 1):
            endings = row[field]
            if not isinstance(endings, (list, tuple)) or len(endings) < 2:
                raise InputError(
                    f"{field} {endings!r} of example {number} is not a list "
                    "of at least two endings; check the reader of the task."
                )
            num_choices = num_choices or len(endings)
            if len(endings) != num_choices:
                raise InputError(
                    f"Example {number} has {len(endings)} {field}, but "
                    f"example 1 has {num_choices}; a data set must have "
                    "equally many everywhere."
                )
            for ending in endings:
                check_text(ending, f"One of the {field} of example {number}")
        return num_choices

    def _gold(self, rows):
        field = self.spec.text_fields[1]
        for number, row in enumerate(rows, 1):
            known = [str(i) for i in range(len(row[field]))]
            if row.get("label") not in known:
                raise InputError(
                    f"Label {row.get('label')!r} of example {number} is not "
                    f"one of {', '.join(known)}, the numbers of its {field}; "
                    "check the reader of the task."
                )
        return [int(row["label"]) for row in rows]
