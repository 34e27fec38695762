"""Functions of labels and outputs that return a float32 number per label.

They work on every Keras backend, and in `compile(loss=...)`.
"""

from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

# A tensor of Keras' backend.
Tensor = Any


@keras.saving.register_keras_serializable(package="keras_bert")
def cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    """Returns the cross-entropies [...] of ids [...] and logits [..., V]."""
    ids, logits = _ids(labels, logits), ops.cast(logits, "float32")
    if keras.backend.backend() == "tensorflow":
        # Keras' own function takes ids of 64 bits, which a TPU has to emulate.
        from tensorflow import nn

        return nn.sparse_softmax_cross_entropy_with_logits(ids, logits)
    return ops.sparse_categorical_crossentropy(ids, logits, from_logits=True)


@keras.saving.register_keras_serializable(package="keras_bert")
def accuracy(labels: Tensor, logits: Tensor) -> Tensor:
    """Returns 1 where an id [...] is the argmax of logits [..., V], else 0."""
    if keras.backend.backend() == "tensorflow":
        # Keras' own function rewrites the negative zeros of the logits first.
        # With a vocabulary of 30,522 that takes longer than the loss.
        from tensorflow import argmax

        predicted = argmax(logits, -1, "int32")
    else:
        predicted = ops.cast(ops.argmax(logits, -1), "int32")
    return ops.cast(ops.equal(predicted, _ids(labels, logits)), "float32")


@keras.saving.register_keras_serializable(package="keras_bert")
def squared_error(labels: Tensor, outputs: Tensor) -> Tensor:
    """Returns the squared differences [B] of numbers [B] and outputs [B, 1]."""
    outputs = ops.cast(outputs[:, 0], "float32")
    labels = ops.reshape(labels, (-1,))  # `compile` makes them [B, 1]
    return ops.square(outputs - ops.cast(labels, "float32"))


def replaced_tokens_loss(labels: Tensor, outputs: Tensor) -> Tensor:
    """Returns -log of the label's probability, [...], from outputs [..., 2].

    The outputs contain logits and labels, because a network that replaces
    tokens knows which tokens it has replaced
    (`keras_bert.models.build_electra`). The first argument is not used.
    """
    logits, labels = outputs[..., 0], outputs[..., 1]
    return ops.softplus(logits) - logits * labels


def replaced_tokens_accuracy(labels: Tensor, outputs: Tensor) -> Tensor:
    """Returns 1 where the logit is right, else 0, from outputs [..., 2].

    The outputs contain logits and labels, as for `replaced_tokens_loss`.
    """
    is_found = (outputs[..., 0] > 0) == (outputs[..., 1] > 0.5)
    return ops.cast(is_found, "float32")


def soft_cross_entropy(
    teacher: Tensor, logits: Tensor, temperature: float
) -> Tensor:
    """Returns the cross-entropies [...] between a teacher and a network.

    The logits of both, [..., V], are divided by the temperature. The result is
    multiplied by the square of the temperature, so that the gradient keeps its
    size (Hinton et al. 2015, arXiv 1503.02531, section 2).
    """
    teacher, logits = _at(temperature, teacher, logits)
    return temperature**2 * ops.categorical_crossentropy(
        ops.softmax(teacher), logits, from_logits=True
    )


def soft_sigmoid_cross_entropy(
    teacher: Tensor, logits: Tensor, temperature: float
) -> Tensor:
    """Like `soft_cross_entropy`, for sigmoids: [..., L] for logits [..., L]."""
    teacher, logits = _at(temperature, teacher, logits)
    return temperature**2 * ops.binary_crossentropy(
        ops.sigmoid(teacher), logits, from_logits=True
    )


def soft_squared_error(
    teacher: Tensor, outputs: Tensor, temperature: float = 1.0
) -> Tensor:
    """Returns the mean squared differences [...] from a teacher's vectors.

    Both arguments are vectors [..., H]. The temperature is not used.
    """
    teacher, outputs = _at(1.0, teacher, outputs)
    return ops.mean(ops.square(teacher - outputs), -1)


def relation_divergence(teacher: Tensor, outputs: Tensor) -> Tensor:
    """Returns the divergences [...] of relations [..., 3 * R, S].

    Both arguments are relations: logits of softmaxes over S, from the layer
    `AttentionRelations`. A divergence is the Kullback-Leibler divergence of the
    teacher's softmaxes from the outputs' softmaxes: the mean over the R heads
    and the sum over the three relations (arXiv 2012.15828, equation 2).
    """
    teacher, outputs = _at(1.0, teacher, outputs)
    ratios = ops.log_softmax(teacher) - ops.log_softmax(outputs)
    divergences = ops.sum(ops.softmax(teacher) * ratios, -1)
    return 3 * ops.mean(divergences, -1)


def attention_error(teacher: Tensor, outputs: Tensor) -> Tensor:
    """Returns the mean squared errors [...] of attention scores [..., N, S].

    See `AttentionScores`, and TinyBERT (arXiv 1909.10351, equation 7).
    """
    teacher, outputs = _at(1.0, teacher, outputs)
    return ops.mean(ops.square(teacher - outputs), (-2, -1))


def _at(temperature: float, *logits: Tensor) -> Iterator[Tensor]:
    return (ops.cast(x, "float32") / temperature for x in logits)


def weighted_mean(
    values: Tensor, weights: Tensor, total: Tensor | None = None
) -> Tensor:
    """Returns sum(weights * values) / (total + 1e-5).

    google-research/bert computes the same mean. `total` is sum(weights) by
    default; for a part of a batch, pass the sum of the weights of the whole
    batch. If all weights are 0, the mean is 0.
    """
    weights = ops.cast(weights, "float32")
    if total is None:
        total = ops.sum(weights)
    return weighted_sum(values, weights) / (total + 1e-5)


def weighted_sum(values: Tensor, weights: Tensor) -> Tensor:
    """Returns sum(weights * values); weights may have extra axes of size 1."""
    if len(weights.shape) != len(values.shape):  # labels [B, 1], a loss [B]
        weights = ops.reshape(weights, ops.shape(values))
    return ops.sum(weights * values)


def _ids(labels: Tensor, logits: Tensor) -> Tensor:
    """Returns ids [...]; `compile` gives some labels the shape [..., 1]."""
    if len(labels.shape) == len(logits.shape):
        labels = ops.squeeze(labels, -1)
    return ops.cast(labels, "int32")
