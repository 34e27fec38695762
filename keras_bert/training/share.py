"""The share of a worker in each batch, and the datasets of all workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf


class Share(NamedTuple):
    """One of several nearly equal parts of every batch, in order.

    Attributes:
        number: The number of the part, from 0.
        num_shares: The number of parts.
    """

    number: int
    num_shares: int

    def rows(self, batch_size: int) -> range:
        """Returns the rows of a batch that belong to the part."""
        return range(*self._ends(batch_size))

    def cut(self, batch: Any) -> Any:
        """Returns these rows of all tensors of a batch.

        The number of the part may be a tensor.
        """

        def cut(x):
            begin, end = self._ends(x.shape[0] or tf.shape(x, tf.int64)[0])
            size = end - begin
            if x.shape[0] and x.shape[0] % self.num_shares == 0:
                size = x.shape[0] // self.num_shares  # known, as XLA wants it
            rest = len(x.shape) - 1
            return tf.slice(x, [begin] + [0] * rest, [size] + [-1] * rest)

        return tf.nest.map_structure(cut, batch)

    def _ends(self, num_rows):
        return (
            num_rows * i // self.num_shares
            for i in (self.number, self.number + 1)
        )


WHOLE = Share(0, 1)


def distribute(
    strategy: tf.distribute.Strategy,
    batches: Callable[[Share], tf.data.Dataset],
) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    """Returns the batches of a dataset, of which each worker reads its share.

    `batches` returns the rows of a share of each batch. They are divided
    among the devices of the worker.
    """

    def of_worker(context):
        share = Share(context.input_pipeline_id, context.num_input_pipelines)
        num_devices = strategy.num_replicas_in_sync // share.num_shares
        return without_tuning(_divided(batches(share), num_devices))

    return strategy.distribute_datasets_from_function(of_worker)


def _divided(dataset, num_parts):
    """Divides every batch into parts, which follow each other."""
    if num_parts == 1:
        return dataset
    return dataset.flat_map(
        lambda *batch: tf.data.Dataset.range(num_parts).map(
            lambda i: Share(i, num_parts).cut(batch)
        )
    )


def without_tuning(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the dataset without tuning at run time.

    Tuning finds nothing faster than all cores for a map with `AUTOTUNE`, and
    the deletion of a tuned iterator sometimes hangs for up to a minute
    (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
