"""A task with one label for a text or a pair of texts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.heads import CLASSIFIER, HeadNames
from keras_bert.errors import InputError
from keras_bert.kinds.fields import find_label, in_chunks, numbered
from keras_bert.kinds.kind import library_metric
from keras_bert.kinds.labels import (
    BALANCED,
    ONE_LABEL,
    format_class_weights,
    parse_class_weights,
    smooth,
)
from keras_bert.kinds.reports import write_confusion_matrix, write_worst_errors
from keras_bert.kinds.settings import ClassificationSettings
from keras_bert.kinds.text_kind import TextKind
from keras_bert.models.classifier import build_classifier


class Classification(TextKind):
    """Answers with `label` and `scores`, the probability of each label.

    In training, a row has the weight of its label (`class_weights`). The
    weights are balanced if all labels weigh the same together: the number of
    rows divided by the number of rows with the label and by the number of
    labels. The loss of an evaluation has neither weights nor smoothed labels.

    The SavedModel takes the text fields [B] and returns `label` [B] and
    `scores` [B, L], in the order of the labels. Its signature `classify`
    follows the Classify API of TensorFlow Serving.
    """

    name = "classification"
    Settings = ClassificationSettings
    has_labels = True
    metrics = {
        "accuracy": library_metric("sklearn.metrics", "accuracy_score"),
        # The F1 of the second label, as the GLUE server scores MRPC and QQP.
        "f1": library_metric("sklearn.metrics", "f1_score"),
        "matthews": library_metric("sklearn.metrics", "matthews_corrcoef"),
    }
    objectives = ONE_LABEL
    head_names: ClassVar[tuple[HeadNames, ...]] = (CLASSIFIER,)
    problem_type: ClassVar[str | None] = "single_label_classification"

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        self._class_weights = parse_class_weights(
            spec.settings.class_weights, spec.labels
        )

    def _check(self):
        super()._check()
        if "f1" in self.spec.metrics and len(self.spec.labels) > 2:
            raise InputError(
                f"f1 scores the second of two labels, but the labels are "
                f"{self.spec.labels}; choose accuracy or matthews."
            )

    @classmethod
    def has_head_of(cls, config):
        return (
            super().has_head_of(config)
            and config.problem_type in (None, cls.problem_type)
            and config.num_outputs > 1
        )

    @classmethod
    def hub_values(cls, settings):
        if settings.pooling != "pooled":
            raise InputError(
                f"A classifier of transformers reads the output of the pooler, "
                f"but this one has pooling={settings.pooling}; keep it in our "
                "format, keras."
            )
        return super().hub_values(settings)

    def build_network(self, bert_config):
        return build_classifier(
            bert_config,
            num_labels=len(self.spec.labels),
            pooling=self.spec.settings.pooling,
        )

    def settings_from_data(self, rows):
        if self.spec.settings.class_weights != BALANCED:
            return {}
        num_rows, counts = 0, np.zeros(len(self.spec.labels))
        for chunk in in_chunks(rows):
            num_rows += len(chunk)
            counts += self._count_labels(chunk)
        weights = self._balanced_weights(num_rows, counts)
        return {"class_weights": format_class_weights(weights)}

    def _count_labels(self, rows):
        return np.bincount(self.gold(rows), minlength=len(self.spec.labels))

    def _balanced_weights(self, num_rows, counts):
        return num_rows / len(counts) / np.maximum(counts, 1)

    @property
    def training_objectives(self):
        return smooth(self.objectives, self.spec.settings.label_smoothing)

    def training_weights(self, labels):
        if not self.spec.settings.class_weights:
            return {}
        weights = tf.constant(self._class_weights, tf.float32)
        return {"logits": tf.gather(weights, labels["logits"])}

    def decode(self, rows, examples, outputs):
        scores = tf.nn.softmax(np.stack(outputs["logits"])).numpy()
        labels = self.spec.labels
        return [
            {
                "label": labels[row.argmax()],
                "scores": dict(zip(labels, row.tolist(), strict=True)),
            }
            for row in scores
        ]

    def gold(self, rows):
        ids = self.label_ids()
        return [
            find_label(row.get("label"), ids, number)
            for number, row in numbered(rows)
        ]

    def predicted(self, answers):
        ids = self.label_ids()
        return [ids[answer["label"]] for answer in answers]

    def submission(self, answer):
        return answer["label"]

    def write_reports(self, folder, rows, answers):
        """Writes `confusion_matrix.png` and `errors.tsv`."""
        write_confusion_matrix(
            folder / "confusion_matrix.png",
            self.gold(rows),
            self.predicted(answers),
            self.spec.labels,
        )
        fields = self.spec.text_fields
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "score", *fields),
            [
                (row["label"], label, answer["scores"][label])
                + tuple(row[field] for field in fields)
                for row, answer in zip(rows, answers, strict=True)
                if (label := answer["label"]) != row["label"]
            ],
        )

    def served_answer(self, outputs):
        logits = outputs["logits"]
        labels = tf.constant(self.spec.labels)
        return {
            "label": tf.gather(labels, tf.argmax(logits, axis=-1)),
            "scores": tf.nn.softmax(logits),
        }
