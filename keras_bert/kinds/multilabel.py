"""A text or a pair of texts -> any number of labels."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert.checkpoints.heads import LABEL_THRESHOLDS
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.answers import sigmoid
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import find_label, numbered
from keras_bert.kinds.hub_config import IDENTITY, SIGMOID
from keras_bert.kinds.kind import Answer, Metric, Outputs, library_metric
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.reports import write_table
from keras_bert.tasks.base import Row
from keras_bert.training.losses import soft_sigmoid_cross_entropy
from keras_bert.training.objectives import Objective

_NUM_FOLDS = 5


@keras.saving.register_keras_serializable(package="keras_bert")
class LabelThresholds(keras.layers.Layer):
    """Decides which labels to give: logits [B, L] -> bool [B, L].

    A label is given if the sigmoid of its logit reaches its threshold. The
    thresholds are weights of the model that are tuned on the dev set and not
    trained.
    """

    def build(self, logits_shape: tuple[int | None, int]) -> None:
        self.thresholds = self.add_weight(
            name="thresholds",
            shape=(logits_shape[-1],),
            initializer=keras.initializers.Constant(0.5),
            trainable=False,
        )

    def call(self, logits: tf.Tensor) -> tf.Tensor:
        return ops.sigmoid(logits) >= self.thresholds


def _sigmoid_cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Returns losses [B, L] for labels (0 or 1) and logits, both [B, L]."""
    return tf.nn.sigmoid_cross_entropy_with_logits(
        labels, tf.cast(logits, tf.float32)
    )


def _smoothed_sigmoid_cross_entropy(
    labels: tf.Tensor, logits: tf.Tensor, *, label_smoothing: float
) -> tf.Tensor:
    labels = labels * (1 - label_smoothing) + label_smoothing / 2
    return _sigmoid_cross_entropy(labels, logits)


def _accuracy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    # The result of `==` has no rank for tensors with unknown axes.
    return tf.cast(tf.equal(labels > 0.5, logits > 0), tf.float32)


def _f1(average: str) -> Metric:
    f1 = library_metric(
        "sklearn.metrics", "f1_score", average=average, zero_division=0
    )
    return lambda gold, scored: f1(gold, scored > 0)


def _mean_average_precision(gold: np.ndarray, scored: np.ndarray) -> float:
    """Returns the mean of the average precisions of the labels in `gold`.

    Labels that no row has do not count. If no row has a label, returns NaN.
    """
    has_rows = gold.any(axis=0)
    if not has_rows.any():
        return float("nan")
    mean = library_metric("sklearn.metrics", "average_precision_score")
    return mean(gold[:, has_rows], np.abs(scored[:, has_rows]))


class MultiLabel(Classification):
    """Answers with `labels`, a list, and `scores`, the score of each label.

    The label of a row is a list of labels. The score of a label is a sigmoid. A
    label is given if its score reaches its threshold, which is tuned on the dev
    set for the best F1 of the label. In training, the metrics of the dev set
    come from other thresholds: the thresholds for each fifth of the rows are
    tuned on the other four fifths.

    In the training loss of a label, the rows with this label have its weight
    (`class_weights`), and the other rows weigh 1. The balanced weight is the
    number of the other rows divided by the number of rows with the label. The
    evaluation loss uses neither weights nor smoothed labels.

    The SavedModel takes the text fields [B] and returns `labels` [B, L], padded
    with "", and the `scores` [B, L] of all labels in order. Its signature
    `classify` follows TensorFlow Serving's Classify API.
    """

    name = "multilabel"
    label_is_list = True
    metrics = {
        "micro_f1": _f1("micro"),
        "macro_f1": _f1("macro"),
        "mean_average_precision": _mean_average_precision,
    }
    objectives = {
        "logits": Objective(
            _sigmoid_cross_entropy,
            {"accuracy": _accuracy},
            soft_loss=soft_sigmoid_cross_entropy,
        )
    }
    hub = dataclasses.replace(
        Classification.hub,
        heads=(*Classification.hub.heads, LABEL_THRESHOLDS),
        problem_type="multi_label_classification",
        activations=(IDENTITY, SIGMOID),
    )
    smoothed_loss = staticmethod(_smoothed_sigmoid_cross_entropy)

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        model = super().build_model(bert_config)
        logits = model.output["logits"]
        # In bfloat16, a score near its threshold could fall on the other side.
        is_given = LabelThresholds(dtype="float32", name="label_thresholds")(
            logits
        )
        outputs = {"logits": logits, "is_given": is_given}
        return keras.Model(model.input, outputs, name="bert_multilabel")

    def _count_labels(self, rows: Sequence[Row]) -> np.ndarray:
        return self.gold(rows).sum(axis=0)

    def _balanced_weights(
        self, num_rows: int, counts: np.ndarray
    ) -> np.ndarray:
        return np.maximum(num_rows - counts, 1) / np.maximum(counts, 1)

    def training_weights(self, labels: Tensors) -> Tensors:
        weights = np.where(labels["logits"] > 0, self.class_weights, 1)
        return {"logits": tf.constant(weights, tf.float32)}

    def reset_tuned(self, model: keras.Model) -> None:
        thresholds = model.get_layer("label_thresholds").thresholds
        thresholds.assign(keras.ops.full_like(thresholds, 0.5))

    def tune(
        self, model: keras.Model, examples: Examples, outputs: dict[str, list]
    ) -> dict[str, list]:
        gold = examples.labels["logits"].numpy() > 0
        scores = sigmoid(np.stack(outputs["logits"]))
        thresholds = _best_thresholds(gold, scores)
        model.get_layer("label_thresholds").thresholds.assign(thresholds)
        # Each row is scored with thresholds that were tuned on other rows.
        folds = np.arange(len(gold)) % _NUM_FOLDS
        is_given = np.empty_like(gold)
        for fold in set(folds):
            rest, rows = folds != fold, folds == fold
            tuned = _best_thresholds(gold[rest], scores[rest])
            is_given[rows] = scores[rows] >= tuned
        return outputs | {"is_given": list(is_given)}

    def decode(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        labels, scores = self.spec.labels, sigmoid(np.stack(outputs["logits"]))
        answers = zip(outputs["is_given"], scores.tolist(), strict=True)
        return [
            {
                "labels": list(itertools.compress(labels, is_given)),
                "scores": dict(zip(labels, row, strict=True)),
            }
            for is_given, row in answers
        ]

    def gold(self, rows: Sequence[Row]) -> np.ndarray:
        """Returns float32 [rows, L]: 1 where a row has a label, 0 elsewhere."""
        ids = self.label_ids()
        gold = np.zeros((len(rows), len(ids)), "float32")
        for i, (number, row) in enumerate(numbered(rows)):
            labels = row.get("label")
            if not isinstance(labels, (list, tuple)):
                raise InputError(
                    f"The label of example {number} is {labels!r}; give a list "
                    "of labels, which may be empty."
                )
            gold[i, [find_label(x, ids, number) for x in labels]] = 1
        return gold

    def predicted(self, answers: Sequence[Answer]) -> np.ndarray:
        """Returns scores, float64 [rows, L].

        The score of a label that is not in the answer is negative.
        """
        return np.array(
            [
                [
                    score if label in answer["labels"] else -score
                    for label, score in answer["scores"].items()
                ]
                for answer in answers
            ]
        )

    def submission(self, answer: Answer) -> str:
        return " ".join(answer["labels"])

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes `labels.tsv`: precision, recall and F1 of each label."""
        # Imported late, because this takes a second.
        from sklearn.metrics import precision_recall_fscore_support as tabulate

        gold, predicted = self.gold(rows) > 0, self.predicted(answers) > 0
        columns = tabulate(gold, predicted, zero_division=0)
        lines = zip(self.spec.labels, *columns, strict=True)
        header = ("label", "precision", "recall", "f1", "rows")
        write_table(folder / "labels.tsv", [header, *lines])

    def served_answer(self, outputs: Tensors) -> Tensors:
        is_given = outputs["is_given"]
        labels = tf.broadcast_to(self.spec.labels, tf.shape(is_given))
        given = tf.ragged.boolean_mask(labels, is_given)
        return {
            "labels": given.to_tensor(shape=[None, len(self.spec.labels)]),
            "scores": tf.sigmoid(outputs["logits"]),
        }


def _best_thresholds(gold: np.ndarray, scores: np.ndarray) -> np.ndarray:
    columns = zip(gold.T, scores.T, strict=True)
    return np.array([_best_threshold(*x) for x in columns], "float32")


def _best_threshold(gold: np.ndarray, scores: np.ndarray) -> float:
    """Returns the threshold with the best F1; 0.5 if no row has the label."""
    if not gold.any():
        return 0.5
    order = np.argsort(-scores, kind="stable")
    num_right = np.cumsum(gold[order])
    f1 = 2 * num_right / (np.arange(1, len(gold) + 1) + gold.sum())
    # Either all rows with equal scores get the label, or none of them does.
    f1[:-1][scores[order][1:] == scores[order][:-1]] = -1
    last = f1.argmax()
    lowest = scores[order][last]
    next_score = scores[order][last + 1] if last + 1 < len(gold) else 0.0
    return (lowest + next_score) / 2
