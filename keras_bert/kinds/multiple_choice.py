"""A task with the best of several endings of a text."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.heads import MULTIPLE_CHOICE
from keras_bert.errors import InputError
from keras_bert.kinds.fields import check_texts, encode_texts, numbered
from keras_bert.kinds.kind import Kind, library_metric
from keras_bert.kinds.labels import ONE_LABEL, smooth
from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.kinds.packed_rows import pack_choices
from keras_bert.kinds.reports import write_worst_errors
from keras_bert.kinds.settings import LabelSmoothingSettings
from keras_bert.kinds.signatures import (
    Signature,
    id_inputs,
    one_text_a_row,
)
from keras_bert.models.heads import build_multiple_choice
from keras_bert.text.packing import BertPreprocessor, how_read


class MultipleChoice(Kind):
    """Answers with `choice`, the number of an ending from 0, and `scores`.

    The text fields are a text and a list of endings; all rows have the same
    number of endings. The label of a row is the number of the right one, which
    may be a string. The scores are the probabilities of the endings.

    The SavedModel takes the text [B] and the endings [B, C], and returns
    `choice`, int32 [B], and `scores` [B, C]. C may differ from training.
    """

    name = "multiple_choice"
    Settings = LabelSmoothingSettings
    num_text_fields = (2,)
    metrics = {"accuracy": library_metric("sklearn.metrics", "accuracy_score")}
    objectives = ONE_LABEL
    head_names = (MULTIPLE_CHOICE,)
    hub_text_fields = ("prompt", "choices")

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        self._preprocessor = BertPreprocessor(
            tokenizer, spec.settings.max_seq_length
        )

    def build_model(self, bert_config):
        return build_multiple_choice(bert_config, packed=True)

    @property
    def training_objectives(self):
        return smooth(self.objectives, self.spec.settings.label_smoothing)

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
        labels = {"logits": tf.constant(self.gold(rows))} if labeled else {}
        return pairs.grouped(num_choices, labels)

    def decode(self, rows, examples, outputs):
        scores = tf.nn.softmax(np.stack(outputs["logits"])).numpy()
        return [
            {"choice": int(row.argmax()), "scores": row.tolist()}
            for row in scores
        ]

    def gold(self, rows):
        field = self.spec.text_fields[1]
        for number, row in numbered(rows):
            known = [str(i) for i in range(len(row[field]))]
            if str(row.get("label")) not in known:
                raise InputError(
                    f"Label {row.get('label')!r} of example {number} is not "
                    f"one of {', '.join(known)}, the numbers of its {field}; "
                    "check the reader of the task."
                )
        return [int(row["label"]) for row in rows]

    def predicted(self, answers):
        return [answer["choice"] for answer in answers]

    def submission(self, answer):
        return str(answer["choice"])

    def write_reports(self, folder, rows, answers):
        """Writes `errors.tsv`, the most certain errors first."""
        context, endings = self.spec.text_fields
        errors = []
        for gold, row, answer in zip(
            self.gold(rows), rows, answers, strict=True
        ):
            choice = answer["choice"]
            if choice != gold:
                texts = row[context], row[endings][gold], row[endings][choice]
                errors.append((gold, choice, answer["scores"][choice], *texts))
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
            features = pack_choices(pairs.features, num_choices)
            _, outputs = call_in_pieces(model, features)
            logits = outputs["logits"]
            truncated = tf.reshape(pairs.truncated, tf.shape(endings))
            return {
                "choice": tf.argmax(logits, axis=-1, output_type=tf.int32),
                "scores": tf.nn.softmax(logits),
                **how_read(
                    features["input_ids"], tf.reduce_any(truncated, axis=1)
                ),
            }

        context, endings = self.string_inputs()
        endings = tf.TensorSpec([None, None], tf.string, endings.name)
        return {"serving_default": Signature(answer, [context, endings])}

    def id_signature(self, model):
        """Takes ids of pairs, int32 [B, C, S], each with a choice."""
        return Signature(
            lambda *ids: model(one_text_a_row(*ids)), id_inputs([None] * 3)
        )

    def _num_choices(self, rows):
        context, field = self.spec.text_fields
        check_texts(rows, [context], lists=[field])
        counts = [(number, len(row[field])) for number, row in numbered(rows)]
        first_number, num_choices = counts[0]
        for number, count in counts:
            if count < 2:
                raise InputError(
                    f"Example {number} has {count} {field}; give at least two "
                    "to choose from."
                )
            if count != num_choices:
                raise InputError(
                    f"Example {number} has {count} {field}, but example "
                    f"{first_number} has {num_choices}; all rows of a data "
                    "set must have the same number."
                )
        return num_choices
