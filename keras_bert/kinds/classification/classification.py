"""A task with one label for a text or a pair of texts."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from sklearn import metrics

from keras_bert.checkpoints.heads import CLASSIFIER
from keras_bert.errors import InputError
from keras_bert.kinds.class_weights import (
    BALANCED,
    format_class_weights,
    parse_class_weights,
)
from keras_bert.kinds.classification.settings import ClassificationSettings
from keras_bert.kinds.fields import (
    encode_texts,
    find_label,
    in_chunks,
    numbered,
)
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.label_smoothing import smooth
from keras_bert.kinds.packed_texts import call_on_texts
from keras_bert.kinds.reports import write_confusion_matrix, write_worst_errors
from keras_bert.kinds.signatures import (
    Signature,
    classify_signature,
    one_graph,
)
from keras_bert.kinds.windows import make_preprocessor, over_windows
from keras_bert.models.bilstm import build_bilstm_classifier
from keras_bert.models.classifier import build_classifier
from keras_bert.training.losses import (
    accuracy,
    cross_entropy,
    soft_cross_entropy,
)
from keras_bert.training.objectives import Objective


class Classification(Kind):
    """Answers with `label` and `scores`, the probability of each label.

    In training, a row has the weight of its label (`class_weights`). The
    weights are balanced if all labels weigh the same together: the number of
    rows divided by those of the label and by the number of labels. The loss of
    an evaluation has neither weights nor smoothed labels.

    The SavedModel takes the text fields [B] and returns `label` [B] and
    `scores` [B, L], in the order of the labels. Its signature `classify`
    follows the Classify API of TensorFlow Serving.
    """

    name = "classification"
    Settings = ClassificationSettings
    has_labels = True
    metrics = {
        "accuracy": metrics.accuracy_score,
        # The F1 of the second label, as the GLUE server scores MRPC and QQP.
        "f1": metrics.f1_score,
        "matthews": metrics.matthews_corrcoef,
    }
    objectives = {
        "logits": Objective(
            cross_entropy,
            {"accuracy": accuracy},
            soft_loss=soft_cross_entropy,
        )
    }
    head_names = (CLASSIFIER,)

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        if "f1" in spec.metrics and len(spec.labels) > 2:
            raise InputError(
                f"f1 scores the second of two labels, but the labels are "
                f"{spec.labels}; choose accuracy or matthews."
            )
        self._preprocessor = make_preprocessor(spec, tokenizer)
        self._class_weights = parse_class_weights(
            spec.settings.class_weights, spec.labels
        )

    def build_model(self, bert_config):
        num_labels = len(self.spec.labels)
        if bilstm_size := self.spec.settings.bilstm_size:
            model = build_bilstm_classifier(
                bert_config, num_labels=num_labels, bilstm_size=bilstm_size
            )
        else:
            model = build_classifier(bert_config, num_labels=num_labels)
        return over_windows(model, self.spec.settings)

    def settings_from_data(self, rows):
        if self.spec.settings.class_weights != BALANCED:
            return {}
        counts = np.zeros(len(self.spec.labels))
        for chunk in in_chunks(rows):
            counts += np.bincount(self.gold(chunk), minlength=len(counts))
        weights = counts.sum() / len(counts) / np.maximum(counts, 1)
        return {"class_weights": format_class_weights(weights)}

    @property
    def training_objectives(self):
        return smooth(self.objectives, self.spec.settings.label_smoothing)

    def training_weights(self, labels):
        if not self.spec.settings.class_weights:
            return {}
        weights = tf.constant(self._class_weights, tf.float32)
        return {"logits": tf.gather(weights, labels["logits"])}

    def encode(self, rows, *, labeled):
        labels = np.array(self.gold(rows), "int32") if labeled else None
        return encode_texts(
            rows, self.spec.text_fields, self._preprocessor, labels
        )

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
                (
                    row["label"],
                    answer["label"],
                    answer["scores"][answer["label"]],
                    *(row[field] for field in fields),
                )
                for row, answer in zip(rows, answers, strict=True)
                if answer["label"] != row["label"]
            ],
        )

    def signatures(self, model):
        call = call_on_texts(model)

        def answer(*texts):
            packed = self._preprocessor.pack(*texts)
            outputs = call(packed.features)
            logits = outputs["logits"]
            labels = tf.constant(self.spec.labels)
            return {
                "label": tf.gather(labels, tf.argmax(logits, axis=-1)),
                "scores": tf.nn.softmax(logits),
                **packed.how_read(),
            }

        inputs = self.string_inputs()
        answer = one_graph(answer, inputs)
        return {
            "serving_default": Signature(answer, inputs, by_label=("scores",)),
            "classify": classify_signature(answer, inputs, self.spec.labels),
        }

    def work_counter(self, bert_config):
        return super().work_counter(
            bert_config,
            bilstm_size=self.spec.settings.bilstm_size,
            bilstm_input_size=bert_config.hidden_size,
        )
