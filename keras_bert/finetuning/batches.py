"""A task's examples -> batches of examples of similar length."""

import math

import numpy as np
import tensorflow as tf

from keras_bert.errors import check_count
from keras_bert.kinds.examples import Examples
from keras_bert.training.distribution import WHOLE, BatchShard

# A pool of examples is sorted by length and cut into about this many batches.
# That is enough to leave next to no padding, and few enough that the batches
# differ in every epoch.
_BATCHES_PER_POOL = 64
# Features, labels and weights.
Batch = tuple[dict[str, tf.Tensor], ...]


def training_batches(
    examples: Examples,
    *,
    batch_size: int,
    num_epochs: int,
    seed: int,
    first_batch: int = 0,
    share: BatchShard = WHOLE,
    static_shapes: bool = False,
    by_length: bool = True,
) -> tf.data.Dataset:
    """Returns shuffled batches, each of examples of similar length.

    Each epoch contains all examples. The batches before `first_batch` are not
    read. The dataset contains only the rows of each batch that belong to
    `share`, padded to the width of the whole batch.

    Without `by_length`, a batch has examples of all lengths, and more padding.

    With `static_shapes`, which a TPU needs, all batches have the same shape:
    they are as wide as the longest example, and rows of weight 0 fill up the
    last batch of an epoch.
    """
    lengths = examples.lengths
    num_batches = math.ceil(len(lengths) / batch_size)
    skipped = min(first_batch // num_batches, num_epochs - 1)
    batches: list[np.ndarray] = []
    random = np.random.default_rng(seed)
    for epoch in range(num_epochs):
        order = random.permutation(len(lengths))
        order_of_batches = random.permutation(num_batches)
        if epoch >= skipped:
            of_epoch = _cut(lengths, order, batch_size, by_length)
            batches += [of_epoch[i] for i in order_of_batches]
    ends = tf.constant(np.cumsum([0, *map(len, batches)]))
    order = tf.constant(np.concatenate(batches), tf.int32)
    longest = tf.constant([np.argmax(lengths)], tf.int32)

    def read(number: tf.Tensor) -> Batch:
        rows = order[ends[number] : ends[number + 1]]
        if static_shapes:
            own = share.rows(batch_size)
            rows = tf.concat([rows[own.start : own.stop], longest], axis=0)
            return _filled(examples.batch(rows), len(own))
        # The last row, the longest row of the whole batch, sets the width.
        rows = tf.concat([share.cut(rows), rows[-1:]], axis=0)
        return tf.nest.map_structure(lambda x: x[:-1], examples.batch(rows))

    options = tf.data.Options()
    # The default optimizations would copy the examples from disk to memory.
    options.experimental_optimization.apply_default_optimizations = False
    dataset = tf.data.Dataset.range(
        first_batch - skipped * num_batches, len(batches)
    ).map(read, tf.data.AUTOTUNE)
    if static_shapes:
        filled = _filled(examples.batch(longest), len(share.rows(batch_size)))
        dataset = dataset.map(
            lambda *batch: tf.nest.map_structure(
                lambda x, like: tf.ensure_shape(x, like.shape), batch, filled
            )
        )
    return dataset.prefetch(2).with_options(options)


def evaluation_batches(
    examples: Examples, *, batch_size: int
) -> tuple[tf.data.Dataset, np.ndarray]:
    """Returns batches of all examples, shortest first, and their indices.

    Row i of the batches is the example with the i-th index. A batch has fewer
    than `batch_size` examples if its examples have several windows.
    """
    check_count("batch_size", batch_size)
    order = np.argsort(examples.lengths, kind="stable")
    batches = examples.cut(order, batch_size)
    if len(batches) == 1:  # making a graph would take longer than the batch
        batch = examples.batch(tf.constant(order))
        return tf.data.Dataset.from_tensors(batch), order
    indices = tf.RaggedTensor.from_row_lengths(
        np.concatenate(batches), [len(batch) for batch in batches]
    )
    return (
        tf.data.Dataset.from_tensor_slices(indices)
        .map(examples.batch, tf.data.AUTOTUNE)
        .prefetch(2)
    ), order


def _filled(batch: Batch, num_rows: int) -> Batch:
    """Returns a batch of `num_rows` rows: copies of its last row fill it up.

    The last row and its copies have the weight 0.
    """
    features, labels, weights = batch
    weights = {
        name: tf.concat([x[:-1], tf.zeros_like(x[-1:])], axis=0)
        for name, x in weights.items()
    }
    # The copies count as work, but are less than one batch per epoch. Rows
    # without tokens would not count, but a mean over no tokens is NaN, and so
    # is 0 * NaN.
    last = tf.shape(features["input_ids"])[0] - 1
    places = tf.minimum(tf.range(num_rows), last)
    return tf.nest.map_structure(
        lambda x: tf.gather(x, places), (features, labels, weights)
    )


def _cut(
    lengths: np.ndarray, order: np.ndarray, batch_size: int, by_length: bool
) -> list[np.ndarray]:
    """Returns an array of indices for each batch, shortest example first."""
    num_batches = math.ceil(len(lengths) / batch_size)
    # The pools have similar sizes, because a small pool would leave more
    # padding.
    batches_per_pool = _BATCHES_PER_POOL if by_length else 1
    num_pools = max(1, round(num_batches / batches_per_pool))
    bounds = num_batches * np.arange(1, num_pools) // num_pools * batch_size
    batches: list[np.ndarray] = []
    for pool in np.split(order, bounds):
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += np.split(pool, range(batch_size, len(pool), batch_size))
    return batches
