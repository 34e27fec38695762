"""A text or a pair of texts -> one of several labels."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.heads import (
    CLASSIFIER,
    LABEL_THRESHOLDS,
    NEXT_SENTENCE,
)
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.fields import find_label, in_chunks, numbered
from keras_bert.kinds.hub_config import IDENTITY, HubNames
from keras_bert.kinds.kind import (
    ONE_LABEL,
    Answer,
    Kind,
    Values,
    library_metric,
)
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.reports import write_confusion_matrix, write_worst_errors
from keras_bert.kinds.settings import ClassificationSettings
from keras_bert.kinds.text_kind import TextKind
from keras_bert.models.heads import build_classifier
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.tasks.base import Row

_BALANCED = "balanced"


def _check_is_pooled(settings: ClassificationSettings) -> dict[str, str]:
    if settings.pooling != "pooled":
        raise InputError(
            "transformers' classifiers read the output of a pooler, but this "
            f"model has pooling={settings.pooling}; keep the model in our "
            "format, keras, or train a model with pooling=pooled."
        )
    return {}


class Classification(TextKind):
    """Answers with `label` and `scores`, the probability of each label.

    In training, a row has the weight of its label (`class_weights`). With
    balanced weights, the rows of each label have the same total weight: the
    weight of a label is the number of all rows divided by the product of the
    number of labels and the number of rows with this label. The evaluation loss
    uses neither weights nor smoothed labels.

    The SavedModel takes the text fields [B] and returns `label` [B] and
    `scores` [B, L], in the order of the labels. Its signature `classify`
    follows TensorFlow Serving's Classify API.
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
    main_part = "label"
    objectives = ONE_LABEL
    hub = HubNames(
        heads=(CLASSIFIER,),
        problem_type="single_label_classification",
        activations=(IDENTITY, "torch.nn.modules.activation.Softmax"),
        further_values=_check_is_pooled,
    )

    def _check(self) -> None:
        super()._check()
        weights, labels = self.spec.settings.class_weights, self.spec.labels
        self.class_weights = parse_class_weights(weights, labels)
        if "f1" in self.spec.metrics and len(labels) > 2:
            raise InputError(
                "The metric f1 is for a task with two labels, but the labels "
                f"are {labels}; choose accuracy or matthews."
            )

    def build_network(self, bert_config: BertConfig) -> keras.Model:
        return build_classifier(
            bert_config,
            num_labels=len(self.spec.labels),
            pooling=self.spec.settings.pooling,
        )

    @classmethod
    def settings_from_checkpoint(
        cls,
        checkpoint: str | Path | Checkpoint,
        bert_config: BertConfig,
        given: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Returns mean pooling as the default if the encoder has no pooler.

        Families other than BERT are pre-trained without a pooler, and their
        classifiers begin with a new pooler. In these families, mean pooling is
        the default only if the checkpoint has no head at all, because an
        encoder without any head was trained for mean pooling.
        """
        if "pooling" in given:
            return {}
        checkpoint = Checkpoint.of(checkpoint)
        # The heads of a classifier do not count: without a pooler, it reads the
        # mean.
        heads = checkpoint.heads - {CLASSIFIER.path, LABEL_THRESHOLDS.path}
        if "pooler" in heads or (heads and bert_config.family != "bert"):
            return {}
        logging.info(
            "%s has no pooler, so the classifier reads the mean of the tokens "
            "(pooling=mean). transformers has no such classifier: if you want "
            "to convert the model, give pooling=pooled.",
            checkpoint.place,
        )
        return {"pooling": "mean"}

    def settings_from_data(self, rows: Iterable[Row]) -> dict[str, Any]:
        # Further training computes new class weights from its own rows.
        name = self.spec.settings.class_weights.partition(":")[0]
        if name != _BALANCED:
            return {}
        num_rows, counts = 0, np.zeros(len(self.spec.labels))
        for chunk in in_chunks(rows):
            num_rows += len(chunk)
            counts += self._count_labels(chunk)
        weights = self._balanced_weights(num_rows, counts)
        text = ",".join(f"{weight:.6g}" for weight in weights)
        return {"class_weights": f"{_BALANCED}:{text}"}

    def _count_labels(self, rows: Sequence[Row]) -> np.ndarray:
        return np.bincount(self.gold(rows), minlength=len(self.spec.labels))

    def _balanced_weights(
        self, num_rows: int, counts: np.ndarray
    ) -> np.ndarray:
        return num_rows / len(counts) / np.maximum(counts, 1)

    def training_weights(self, labels: Tensors) -> Tensors:
        if not self.spec.settings.class_weights:
            return {}
        weights = tf.constant(self.class_weights, tf.float32)
        return {"logits": tf.gather(weights, labels["logits"])}

    def gold(self, rows: Sequence[Row]) -> Values:
        ids = self.label_ids()
        return [
            find_label(row.get("label"), ids, number)
            for number, row in numbered(rows)
        ]

    def predicted(self, answers: Sequence[Answer]) -> Values:
        ids = self.label_ids()
        return [ids[answer["label"]] for answer in answers]

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes `confusion_matrix.png` and `errors.tsv`."""
        fields, labels = self.spec.text_fields, self.spec.labels
        pairs = self.gold(rows), self.predicted(answers)
        write_confusion_matrix(folder, *pairs, labels)
        write_worst_errors(
            folder / "errors.tsv",
            ("gold", "predicted", "score", *fields),
            [
                (row["label"], answer["label"], max(answer["scores"].values()))
                + tuple(row[field] for field in fields)
                for row, answer in zip(rows, answers, strict=True)
                if answer["label"] != row["label"]
            ],
        )

    def served_answer(self, outputs: Tensors) -> Tensors:
        scores = tf.nn.softmax(outputs["logits"])
        labels = tf.constant(self.spec.labels)
        label = tf.gather(labels, tf.argmax(scores, axis=-1))
        return {"label": label, "scores": scores}


class NextSentence(Classification):
    """Classifies pairs of texts with the pre-trained next-sentence head.

    There are two labels: the second text comes next, or it is a random text.
    """

    name = "next_sentence"
    num_text_fields = (2,)
    hub = dataclasses.replace(
        Classification.hub,
        heads=(NEXT_SENTENCE,),
        problem_type=None,
        text_fields=("text", "next_text"),
        # The names in the config, if any, are not the names of these outputs.
        labels=("is_next", "random"),
    )

    # The head reads the pooler, even if the checkpoint has none.
    settings_from_checkpoint = Kind.settings_from_checkpoint

    def _check(self) -> None:
        super()._check()
        settings, labels = self.spec.settings, self.spec.labels
        if settings.pooling != "pooled":
            raise InputError(
                "A next_sentence model needs the pooler; leave out "
                f"pooling={settings.pooling}."
            )
        if len(labels) != 2:
            raise InputError(
                "A next_sentence model has two labels, one for the next text "
                f"and one for a random text, but this one has {labels}; choose "
                "the kind classification."
            )

    def build_network(self, bert_config: BertConfig) -> keras.Model:
        model = build_pretraining_model(bert_config)
        inputs = dict(model.input)
        del inputs["masked_lm_positions"]
        outputs = {"logits": model.output["next_sentence"]}
        return keras.Model(inputs, outputs, name="bert_next_sentence")


def parse_class_weights(text: str, labels: Sequence[str]) -> np.ndarray:
    """Returns the weight of each label, from the setting `class_weights`.

    All weights are 1 for "" and "balanced". In "balanced:0.8,1.3", the numbers
    are weights that were computed from training rows.

    Raises InputError if `text` is not such a setting.
    """
    name, _, computed = text.partition(":")
    if name == _BALANCED:  # not computed yet, or computed for other labels
        text = computed if computed.count(",") == len(labels) - 1 else ""
    if not text:
        return np.ones(len(labels))
    weights = dict.fromkeys(labels, 1.0)
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    names: Sequence[str] = [name for name, _, _ in parts]
    if len(parts) == len(labels) and not any(sign for _, sign, _ in parts):
        names = labels
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        numbers = [math.nan]
    given = dict(zip(names, numbers, strict=False))
    are_numbers = all(0 < number < math.inf for number in numbers)
    if not are_numbers or len(given) < len(parts) or given.keys() - weights:
        raise InputError(
            f"class_weights is {text!r}; give 'balanced', or numbers above 0 "
            "separated by commas. Write a pair such as "
            f"'{labels[0]}=2.5' for some of the labels, or one number for "
            f"each of the labels {', '.join(labels)}."
        )
    return np.array(list((weights | given).values()))
