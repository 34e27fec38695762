"""Functions of labels and outputs that return a float32 per label."""

from __future__ import annotations

import tensorflow as tf


def cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Ids [...] and logits [..., V] -> -log of the label's softmax, [...]."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, tf.cast(logits, tf.float32)
    )


def accuracy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Ids [...] and logits [..., V] -> 1 if the label is the argmax, else 0.

    Keras' own accuracy rewrites the negative zeros of the logits first. With a
    vocabulary of 30,522 that takes longer than the loss.
    """
    predicted = tf.argmax(logits, -1, tf.int32)
    return tf.cast(predicted == tf.cast(labels, tf.int32), tf.float32)


def squared_error(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Numbers [B] and outputs [B, 1] -> squares of the differences, [B]."""
    outputs = tf.cast(outputs[:, 0], tf.float32)
    return tf.square(outputs - tf.cast(labels, tf.float32))


def soft_cross_entropy(
    teacher: tf.Tensor, logits: tf.Tensor, temperature: float
) -> tf.Tensor:
    """Logits of a teacher and logits [..., V] -> cross-entropies [...].

    Both logits are divided by the temperature. The result is multiplied by
    its square, so that its gradient keeps its size (Hinton et al. 2015, arXiv
    1503.02531, section 2).
    """
    teacher, logits = _at(temperature, teacher, logits)
    return temperature**2 * tf.nn.softmax_cross_entropy_with_logits(
        tf.nn.softmax(teacher), logits
    )


def soft_sigmoid_cross_entropy(
    teacher: tf.Tensor, logits: tf.Tensor, temperature: float
) -> tf.Tensor:
    """The same for sigmoids: logits [..., L] -> cross-entropies [..., L]."""
    teacher, logits = _at(temperature, teacher, logits)
    return temperature**2 * tf.nn.sigmoid_cross_entropy_with_logits(
        tf.sigmoid(teacher), logits
    )


def soft_squared_error(
    teacher: tf.Tensor, outputs: tf.Tensor, temperature: float = 1.0
) -> tf.Tensor:
    """Vectors of a teacher and vectors [..., H] -> mean squares [...].

    The temperature is not used.
    """
    teacher, outputs = _at(1.0, teacher, outputs)
    return tf.reduce_mean(tf.math.squared_difference(teacher, outputs), -1)


def _at(temperature, *logits):
    return (tf.cast(x, tf.float32) / temperature for x in logits)


def weighted_mean(
    values: tf.Tensor, weights: tf.Tensor, total: tf.Tensor | None = None
) -> tf.Tensor:
    """sum(weights * values) / (total + 1e-5), as google-research/bert.

    `total` is sum(weights) by default; pass that of the whole batch if this
    is a part of it. If all weights are 0, so is the mean.
    """
    weights = tf.cast(weights, tf.float32)
    if total is None:
        total = tf.reduce_sum(weights)
    return tf.reduce_sum(weights * values) / (total + 1e-5)
