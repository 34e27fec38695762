"""A few labeled texts and a sentence encoder -> a classifier."""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.batches import evaluation_batches
from keras_bert.finetuning.config import FinetuningConfig
from keras_bert.finetuning.evaluation import Predictor
from keras_bert.finetuning.folder import read_training
from keras_bert.finetuning.training import Start, history_of, train_kind
from keras_bert.io.weight_paths import weights_by_path
from keras_bert.kinds.classification import Classification
from keras_bert.kinds.kind import Kind
from keras_bert.tasks.base import Row
from keras_bert.training.distribution import get_strategy
from keras_bert.training.objectives import BatchObjective

# The defaults of the contrastive training.
FEW_SHOT = FinetuningConfig(
    num_train_epochs=20, train_batch_size=32, learning_rate=2e-5
)
_VECTORS = "vectors"


def contrast_and_solve(
    kind: Kind, start: Start, rows: Sequence[Row]
) -> tuple[keras.Model, Mapping[str, Any], keras.callbacks.History]:
    """Returns a few-shot classifier, facts about its training, and the history.

    The encoder is trained on pairs of rows; then a logistic regression becomes
    the output layer. This is SetFit (Tunstall et al. 2022, arXiv 2209.11055,
    section 3) with two changes: the pairs are all pairs of a batch, so that
    each text is encoded once for many pairs, and the output layer is part of
    the network.
    """
    if not start.checkpoint:
        raise InputError(
            "Few-shot training starts from a checkpoint, but this model has "
            "none; make the model with TextClassifier.from_pretrained."
        )
    config = start.config
    settings: Any = kind.spec.settings
    if type(kind) is not Classification or settings.in_windows:
        raise InputError(
            "Few-shot training is for a classifier that does not read texts in "
            "windows; train this model with fit."
        )
    if config.lora_rank:
        raise InputError(
            "Few-shot training changes all weights; leave out lora_rank."
        )
    if len({*kind.gold(rows)}) < len(kind.spec.labels):  # checks the labels
        raise InputError(
            "A label has no example; few-shot training needs examples of each "
            f"of the labels {', '.join(kind.spec.labels)}."
        )
    if settings.label_smoothing:
        raise InputError(
            "Few-shot training cannot smooth the labels, but label_smoothing "
            f"is {settings.label_smoothing}; leave out label_smoothing."
        )
    heads = Checkpoint.of(start.checkpoint).heads
    if settings.pooling == "pooled" and "pooler" not in heads:
        logging.warning(
            "Few-shot training begins with an untrained pooler, and a few "
            "texts are not enough to train a pooler; give pooling='mean'."
        )
    settings = dataclasses.replace(settings, class_weights="")
    spec = dataclasses.replace(kind.spec, settings=settings)
    contrast = _Contrast(spec, kind.tokenizer)
    with tempfile.TemporaryDirectory(prefix="keras_bert-") as folder:
        output_dir = Path(folder)
        trained, history = train_kind(
            contrast,
            lambda: rows,
            (),
            start,
            strategy=get_strategy(config),
            output_dir=output_dir,
        )
        training = read_training(output_dir / "best")
    model = kind.build_model(start.bert_config)
    values = weights_by_path(trained.model)
    for weight in model.weights:
        if weight.path in values:
            weight.assign(values[weight.path])
    examples = contrast.encode(rows, labeled=True)
    batches = evaluation_batches(examples, batch_size=config.eval_batch_size)
    outputs, _ = Predictor(trained.model, contrast.objectives)(*batches)
    vectors, labels = np.stack(outputs[_VECTORS]), examples.labels[_VECTORS]
    weights = dict(enumerate(kind.class_weights))
    kernel, bias = _solve(vectors, labels.numpy(), weights)
    layer = model.get_layer("classifier")
    layer.kernel.assign(kernel)
    layer.bias.assign(bias)
    return model, training, history_of(history.rows, model)


def _error_of_cosines(
    labels: tf.Tensor, vectors: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
    """Returns the squared error of the cosines of all pairs in a batch.

    The cosine of two vectors should be 1 if their labels are the same, and
    otherwise 0. The mean over the pairs with the same label and the mean over
    the other pairs are added, because SetFit draws equally many pairs of both
    types.
    """
    unit = tf.math.l2_normalize(tf.cast(vectors, tf.float32), axis=-1)
    cosines = tf.matmul(unit, unit, transpose_b=True)
    counts = tf.cast(weights > 0, tf.float32)
    pairs = counts[:, None] * counts[None, :]
    pairs = tf.linalg.set_diag(pairs, tf.zeros_like(counts))
    is_same = tf.cast(labels[:, None] == labels[None, :], tf.float32)
    error = tf.square(cosines - is_same)
    return tf.add_n(
        [
            tf.math.divide_no_nan(tf.reduce_sum(of * error), tf.reduce_sum(of))
            for of in (pairs * is_same, pairs * (1 - is_same))
        ]
    )


class _Contrast(Classification):
    """A kind whose loss moves texts with the same label close together."""

    objectives = {_VECTORS: BatchObjective(_error_of_cosines)}
    batches_by_length = False

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        model = super().build_model(bert_config)
        vectors = model.get_layer("classifier_dropout").input
        return keras.Model(model.input, {_VECTORS: vectors}, name=model.name)


def _solve(
    vectors: np.ndarray,
    labels: np.ndarray,
    class_weight: Mapping[int, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the kernel [H, L] and the bias [L] of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    # The regularization of the regression suits vectors of norm 1.
    scale = np.linalg.norm(vectors, axis=1).mean()
    solver = LogisticRegression(max_iter=1000, class_weight=class_weight)
    solved = solver.fit(vectors / scale, labels)
    kernel, bias = solved.coef_.T / scale, solved.intercept_
    if len(bias) == 1:  # two labels, of which only the second has a logit
        kernel = np.concatenate([-kernel, kernel], axis=1) / 2
        bias = np.concatenate([-bias, bias]) / 2
    return kernel, bias
