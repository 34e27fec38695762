"""Examples of a task -> batches of features and labels, of similar length."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.kinds.examples import Examples

# Batches are cut from about this many at a time, sorted by length: enough to
# leave next to no padding, few enough that the batches differ in every epoch.
_BATCHES_PER_POOL = 64


def training_batches(
    examples: Examples, *, batch_size: int, num_epochs: int, seed: int
) -> tf.data.Dataset:
    """Every example once an epoch, in shuffled batches of similar length."""
    random = np.random.default_rng(seed)
    lengths = examples.lengths
    # Pools of similar size: a small one would leave more padding.
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
        "%d examples of %.0f tokens on average; %.1f %% of the positions in "
        "the batches are tokens, not padding",
        len(lengths),
        examples.mean_length,
        # The sequences of an example are padded to its longest one.
        100
        * fill_rate(lengths, batches)
        * (examples.mean_length / lengths.mean()),
    )
    return _dataset(examples, batches)


def evaluation_batches(
    examples: Examples, *, batch_size: int
) -> tuple[tf.data.Dataset, np.ndarray]:
    """Every example once, the shortest first, and their places in `examples`.

    The i-th row of the outputs belongs to the example at the i-th place.
    """
    order = np.argsort(examples.lengths, kind="stable")
    batches = np.split(order, range(batch_size, len(order), batch_size))
    return _dataset(examples, batches), order


def fill_rate(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """The share of the positions in all batches that is not padding."""
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
