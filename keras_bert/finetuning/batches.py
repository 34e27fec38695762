"""Examples of a task -> batches of features and labels, of similar length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.finetuning.stored_examples import StoredExamples
from keras_bert.kinds.examples import Examples
from keras_bert.training.share import WHOLE, Share

# Batches are cut from about this many at a time, sorted by length: enough to
# leave next to no padding, few enough that the batches differ in every epoch.
_BATCHES_PER_POOL = 64


def training_batches(
    examples: StoredExamples,
    *,
    batch_size: int,
    seed: int,
    first_batch: int = 0,
    share: Share = WHOLE,
    static_shapes: bool = False,
) -> tf.data.Dataset:
    """Every example once an epoch, in shuffled batches of similar length.

    The epochs have no end. A later `first_batch` costs nothing: what lies
    before it is not read. The dataset has the rows of a `share` of each batch,
    as wide as if they were padded with the other rows.

    With `static_shapes`, which a TPU needs, all batches have one shape. They
    are as wide as the longest example of all, and rows of weight 0 fill up the
    last batch of an epoch.
    """
    lengths = examples.sizes.lengths
    epochs = _Epochs(lengths, batch_size, seed)
    epochs.log_padding(examples.sizes.mean_length, static_shapes)
    longest = np.argmax(lengths)

    def read():
        for batch in epochs.batches(first_batch):
            size, widest = len(batch), batch[-1]
            if static_shapes:
                size, widest = batch_size, longest
            rows = share.rows(size)
            # The last row is there to make the others as wide.
            yield examples.take(
                np.append(batch[rows.start : rows.stop], widest)
            )

    def pad(arrays):
        batch = examples.pad(arrays)
        if static_shapes:
            return _fill(batch, len(share.rows(batch_size)))
        return tf.nest.map_structure(lambda x: x[:-1], batch)

    dataset = (
        tf.data.Dataset.from_generator(
            read, output_signature=examples.signature
        )
        .apply(
            tf.data.experimental.assert_cardinality(
                tf.data.INFINITE_CARDINALITY
            )
        )
        .map(pad, tf.data.AUTOTUNE)
    )
    if static_shapes:
        arrays = examples.take(np.array([longest]))
        filled = pad(tf.nest.map_structure(tf.constant, arrays))
        dataset = dataset.map(
            lambda *batch: tf.nest.map_structure(
                lambda x, like: tf.ensure_shape(x, like.shape), batch, filled
            )
        )
    return dataset.prefetch(2)


def evaluation_batches(
    examples: Examples, *, batch_size: int
) -> tuple[tf.data.Dataset, np.ndarray]:
    """Every example once, the shortest first, and their places in `examples`.

    The i-th row of the outputs belongs to the example at the i-th place.
    """
    order = np.argsort(examples.lengths, kind="stable")
    batches = np.split(order, range(batch_size, len(order), batch_size))
    indices = tf.RaggedTensor.from_row_lengths(
        np.concatenate(batches), [len(batch) for batch in batches]
    )
    return (
        tf.data.Dataset.from_tensor_slices(indices)
        .map(examples.batch, tf.data.AUTOTUNE)
        .prefetch(2)
    ), order


def fill_rate(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """Returns the share of the positions in batches that is not padding."""
    num_positions = sum(lengths[b].max() * len(b) for b in batches)
    return sum(lengths[b].sum() for b in batches) / num_positions


def _fill(batch, num_rows):
    """Replaces the last row by copies of weight 0, up to so many rows."""
    features, labels, weights = batch
    weights = {
        name: tf.concat([x[:-1], tf.zeros_like(x[-1:])], axis=0)
        for name, x in weights.items()
    }
    # The copies count as work, less than one batch an epoch. Without tokens
    # they would not, but then a mean over tokens is NaN, and so is 0 * NaN.
    last = tf.shape(features["input_ids"])[0] - 1
    places = tf.minimum(tf.range(num_rows), last)
    return tf.nest.map_structure(
        lambda x: tf.gather(x, places), (features, labels, weights)
    )


class _Epochs:
    """The batches of each epoch, as places of examples."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int):
        self._lengths = lengths
        self._batch_size = batch_size
        self._seed = seed
        self._num_batches = math.ceil(len(lengths) / batch_size)

    def batches(self, first: int) -> Iterator[np.ndarray]:
        """Yields batches without end, from number `first` on.

        The examples of a batch are sorted by length.
        """
        random = np.random.default_rng(self._seed)
        epoch, begin = divmod(first, self._num_batches)
        for number in itertools.count():
            order = random.permutation(len(self._lengths))
            order_of_batches = random.permutation(self._num_batches)
            if number >= epoch:
                batches = self._cut(order)
                for place in order_of_batches[begin:]:
                    yield batches[place]
                begin = 0

    def log_padding(self, mean_length: float, static_shapes: bool) -> None:
        """Logs the share of padding in the first epoch."""
        lengths = self._lengths
        if static_shapes:
            num_rows = self._num_batches * self._batch_size
            rate = lengths.mean() / lengths.max() * (len(lengths) / num_rows)
        else:
            batches = itertools.islice(self.batches(0), self._num_batches)
            rate = fill_rate(lengths, list(batches))
        logging.info(
            "%d examples of %.0f tokens on average; %.1f %% of the positions "
            "in the batches are tokens, not padding",
            len(lengths),
            mean_length,
            # The sequences of an example are padded to its longest one.
            100 * rate * (mean_length / lengths.mean()),
        )

    def _cut(self, order):
        size = self._batch_size
        # Pools of similar size: a small one would leave more padding.
        num_pools = max(1, round(self._num_batches / _BATCHES_PER_POOL))
        bounds = np.arange(1, num_pools) * self._num_batches // num_pools * size
        batches = []
        for pool in np.split(order, bounds):
            pool = pool[np.argsort(self._lengths[pool], kind="stable")]
            batches += np.split(pool, range(size, len(pool), size))
        return batches
