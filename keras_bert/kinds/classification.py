"""One label for a text or a pair."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.fields import encode_texts, text_signature
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.reports import write_confusion_matrix, write_worst_errors
from keras_bert.models.bilstm import build_bilstm_classifier
from keras_bert.models.classifier import build_classifier
from keras_bert.text.packing import BertPreprocessor
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.training_model import Objective


class ClassificationHead(tf.Module):
    """Answers with `prediction`, a label, and `scores`, of each label.

    The SavedModel takes `text` [B], or `text_a` and `text_b`, and returns
    `label` [B] and `scores` [B, L], probabilities in the order of the labels.
    """

    objectives = {"logits": Objective(cross_entropy, {"accuracy": accuracy})}

    def __init__(self, spec, tokenizer):
        super().__init__(name="classification")
        self.spec = spec
        self.tokenizer = tokenizer
        self._preprocessor = BertPreprocessor(tokenizer, spec.max_seq_length)

    def build_model(self, bert_config):
        num_labels = len(self.spec.labels)
        if self.spec.bilstm_size:
            return build_bilstm_classifier(
                bert_config,
                num_labels=num_labels,
                bilstm_size=self.spec.bilstm_size,
            )
        return build_classifier(bert_config, num_labels=num_labels)

    def encode(self, rows, *, labeled):
        labels = None
        if labeled:
            labels = np.array(self._gold(rows), "int32")
        return encode_texts(
            rows, self.spec.text_fields, self._preprocessor, labels
        )

    def decode(self, rows, examples, outputs):
        scores = tf.nn.softmax(np.stack(outputs["logits"])).numpy()
        return [
            {
                "prediction": self.spec.labels[row.argmax()],
                "scores": dict(
                    zip(self.spec.labels, row.tolist(), strict=True)
                ),
            }
            for row in scores
        ]

    def score(self, rows, answers, metrics):
        gold, predicted = self._gold(rows), self._predicted(answers)
        return {
            name: float(METRICS["classification"][name](gold, predicted))
            for name in metrics
        }

    def write_reports(self, folder, rows, answers):
        write_confusion_matrix(
            folder / "confusion_matrix.png",
            self._gold(rows),
            self._predicted(answers),
            self.spec.labels,
        )
        fields = self.spec.text_fields
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "score", *fields),
            [
                (
                    row["label"],
                    answer["prediction"],
                    answer["scores"][answer["prediction"]],
                    *(row[field] for field in fields),
                )
                for row, answer in zip(rows, answers, strict=True)
                if answer["prediction"] != row["label"]
            ],
        )

    def signatures(self, model):
        def answer(*texts):
            logits = model(self._preprocessor(*texts))["logits"]
            labels = tf.constant(self.spec.labels)
            return {
                "label": tf.gather(labels, tf.argmax(logits, axis=-1)),
                "scores": tf.nn.softmax(logits),
            }

        return text_signature(answer, self.spec.text_fields)

    def _gold(self, rows):
        ids = {label: i for i, label in enumerate(self.spec.labels)}
        for number, row in enumerate(rows, 1):
            label = row.get("label")
            if label not in self.spec.labels:
                raise InputError(
                    f"Label {label!r} of example {number} is not one of "
                    f"{', '.join(ids)}; check the labels and the reader of "
                    "the task."
                )
        return [ids[row["label"]] for row in rows]

    def _predicted(self, answers):
        return [self.spec.labels.index(a["prediction"]) for a in answers]
