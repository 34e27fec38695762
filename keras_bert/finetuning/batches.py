"""Examples of a task -> batches of features and labels, of like length."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.text.packing import pad

# Batches are cut of about so many at a time, sorted by length: enough to leave
# next to no padding, few enough that every batch is another one each epoch.
_BATCHES_PER_POOL = 64
# The label of a token that is not to be learned.
IGNORED = -1


@dataclasses.dataclass(frozen=True)
class Examples:
    """What the model reads, ragged, and what it should say.

    Attributes:
        features: `input_ids` and `segment_ids`, [N, (tokens)], or those of
            `pack_choices` where each example is a choice.
        rows: Number of the row each example comes from, in rising order: a
            long text makes several examples.
        labels: By output, [N] or ragged [N, (tokens)]; ids are `IGNORED`
            where there is nothing to learn; empty where the rows have none.
    """

    features: dict[str, tf.RaggedTensor]
    rows: np.ndarray
    labels: dict[str, tf.Tensor | tf.RaggedTensor] = dataclasses.field(
        default_factory=dict
    )

    @property
    def lengths(self) -> np.ndarray:
        """Of each example, or of the longest of its sequences, [N]."""
        lengths = self.features["input_ids"].row_lengths(axis=-1)
        if isinstance(lengths, tf.RaggedTensor):
            lengths = tf.reduce_max(lengths, axis=-1)
        return lengths.numpy()

    @property
    def mean_length(self) -> float:
        """Of all sequences; each example has equally many."""
        ids = self.features["input_ids"]
        lengths = tf.cast(ids.row_lengths(axis=-1), tf.float64)
        return float(tf.reduce_mean(lengths))

    def batch(self, indices: tf.Tensor) -> tuple[dict[str, tf.Tensor], ...]:
        """The examples at `indices`: features, labels and weights."""
        features = pad(
            {name: tf.gather(x, indices) for name, x in self.features.items()}
        )
        labels, weights = {}, {}
        for name, values in self.labels.items():
            values = tf.gather(values, indices)
            if isinstance(values, tf.RaggedTensor):
                values = values.to_tensor(IGNORED)
            weights[name] = tf.ones_like(values, tf.float32)
            if values.dtype.is_integer:
                weights[name] = tf.cast(values != IGNORED, tf.float32)
                values = tf.maximum(values, 0)
            labels[name] = values
        return features, labels, weights


def training_batches(
    examples: Examples, *, batch_size: int, num_epochs: int, seed: int
) -> tf.data.Dataset:
    """Every example once an epoch, in batches of like length, shuffled."""
    random = np.random.default_rng(seed)
    lengths = examples.lengths
    # Pools of like size: a small one would leave more padding.
    num_batches = math.ceil(len(lengths) / batch_size)
    num_pools = max(1, round(num_batches / _BATCHES_PER_POOL))
    bounds = num_batches * np.arange(1, num_pools) // num_pools * batch_size
    batches = []
    for _ in range(num_epochs):
        order = random.permutation(len(lengths))
        epoch = []
        for pool in np.split(order, bounds):
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            epoch += np.split(pool, range(batch_size, len(pool), batch_size))
        batches += [epoch[i] for i in random.permutation(len(epoch))]
    logging.info(
        "%d examples of %.0f tokens on average; %.1f %% of what the batches "
        "hold is text",
        len(lengths),
        examples.mean_length,
        # The sequences of an example are padded to its longest.
        100
        * fill_rate(lengths, batches)
        * (examples.mean_length / lengths.mean()),
    )
    return _dataset(examples, batches)


def evaluation_batches(
    examples: Examples, *, batch_size: int
) -> tuple[tf.data.Dataset, np.ndarray]:
    """Every example once, the shortest first, and their places in `examples`.

    Row i of the model's output belongs to the example of the i-th place.
    """
    order = np.argsort(examples.lengths, kind="stable")
    batches = np.split(order, range(batch_size, len(order), batch_size))
    return _dataset(examples, batches), order


def fill_rate(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """The share of the positions of all batches that is not padding."""
    num_positions = sum(lengths[b].max() * len(b) for b in batches)
    return sum(lengths[b].sum() for b in batches) / num_positions


def _dataset(examples, batches):
    indices = tf.RaggedTensor.from_row_lengths(
        np.concatenate(batches), [len(batch) for batch in batches]
    )
    return (
        tf.data.Dataset.from_tensor_slices(indices)
        .map(examples.batch, tf.data.AUTOTUNE)
        .prefetch(2)
    )
