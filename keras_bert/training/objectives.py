"""Objectives: the loss and the metrics of a model's output."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.training.losses import Tensor, soft_squared_error, weighted_sum

# A metric's weighted sum and the sum of the weights, by the metric's name.
Sums = dict[str, tuple[Tensor, Tensor]]


@dataclasses.dataclass(frozen=True)
class Objective:
    """A loss with one number per label.

    The loss of a batch is the weighted mean of these numbers.

    Attributes:
        loss: A function of labels and outputs that returns a float32 number per
            label, [B, 2] for labels [B, 2]; see `losses`.
        metrics: A mapping from names to other functions of labels and outputs,
            like the loss. Their means are reported under these names.
        of_mean_loss: A mapping from names to functions of the mean loss. Their
            results are reported under these names.
        soft_loss: The loss for learning from a teacher: a function of the
            teacher's outputs, the network's outputs and a temperature that
            returns a float32 number per label. See `losses`.
        weight: The factor of the loss in the sum of all losses.

    Example:
        >>> from keras_bert.training.losses import accuracy, cross_entropy
        >>> objective = keras_bert.training.Objective(
        ...     cross_entropy, {"accuracy": accuracy}, {"perplexity": tf.exp}
        ... )
        >>> objective.loss(tf.constant([1]), tf.zeros([1, 2])).numpy()
        array([0.6931472], dtype=float32)
    """

    loss: Callable[..., Any]
    metrics: Mapping[str, Callable[..., Any]] = dataclasses.field(
        default_factory=dict
    )
    of_mean_loss: Mapping[str, Callable[..., Any]] = dataclasses.field(
        default_factory=dict
    )
    soft_loss: Callable[..., Any] = soft_squared_error
    weight: float = 1.0

    def sums(self, labels: Tensor, outputs: Tensor, weights: Tensor) -> Sums:
        """Returns the weighted sums of the loss and of the metrics, by name.

        Each value is a pair: the weighted sum, and the sum of the weights.
        """
        total = ops.sum(weights)
        return {
            name: (weighted_sum(function(labels, outputs), weights), total)
            for name, function in self._functions().items()
        }

    def _functions(self) -> dict[str, Callable[..., Tensor]]:
        return {"loss": self.loss, **self.metrics}


@dataclasses.dataclass(frozen=True)
class BatchObjective(Objective):
    """A loss of the whole batch, such as a contrastive loss.

    The functions in `loss` and `metrics` take labels, outputs and weights and
    return one float32 number. They see all rows of the global batch, in order,
    however many replicas, workers and micro-batches share the work. In a mean
    over several batches, the weight of a batch is the number of its rows whose
    weight is not 0. On a TPU, rows of weight 0 fill up the last batch of an
    epoch: the functions must leave out these rows.

    Example:
        >>> def loss(labels, outputs, weights):
        ...     scores = outputs @ tf.transpose(outputs)  # [B, B]
        ...     return tf.reduce_mean(scores)
        >>> objective = keras_bert.training.BatchObjective(loss)
        >>> float(objective.loss(None, tf.ones([3, 2]), None))
        2.0
    """

    def sums(self, labels: Tensor, outputs: Tensor, weights: Tensor) -> Sums:
        """Returns the loss and the metrics, times the number of rows, by name.

        Each value is a pair: the product, and the number of rows. Rows of
        weight 0 do not count.
        """
        rows = ops.reshape(weights, (ops.shape(weights)[0], -1))
        num_rows = ops.sum(ops.cast(ops.any(rows != 0, axis=1), "float32"))
        return {
            name: (num_rows * function(labels, outputs, weights), num_rows)
            for name, function in self._functions().items()
        }


class Distillation(NamedTuple):
    """A network that learns from a teacher and from the labels of its batches.

    Attributes:
        network: The network to train: the run's network with further outputs.
            Any further weights are only for training.
        objectives: The objectives of all outputs.
        labels: A function that returns the labels of the further outputs, from
            the features of a batch or a micro-batch.
        weights: A function that returns the weights of these labels, from the
            features and the weights of the other labels.
    """

    network: keras.Model
    objectives: Mapping[str, Objective]
    labels: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]
    weights: Callable[..., Mapping[str, Tensor]]
