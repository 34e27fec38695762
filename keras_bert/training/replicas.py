"""Sums and joins over the replicas of a step; call them in `strategy.run`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def replica_id() -> tf.Tensor:
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def num_replicas() -> int:
    return tf.distribute.get_replica_context().num_replicas_in_sync


def sum_over_replicas(values: Any) -> Any:
    """Returns the sums of nested tensors, equal on all replicas."""
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)


def gather_rows(values: Any) -> Any:
    """Joins the rows of all replicas, in the order of the global batch.

    Each replica pads its rows with zeros, and these are summed: all_gather
    fails where several workers have one device each (TensorFlow 2.21).
    """
    if num_replicas() == 1 or not tf.nest.flatten(values):
        return values

    def gather(x):  # one by one: a call takes tensors of one dtype
        before, after = _num_other_rows(tf.shape(x)[0])
        rest = [[0, 0]] * (len(x.shape) - 1)
        padded = tf.pad(x, [[before, after], *rest])
        padded = tf.ensure_shape(padded, [None, *x.shape[1:]])
        return sum_over_replicas(padded)

    return tf.nest.map_structure(gather, values)


def rows_of_replica(x: tf.Tensor, num_rows: tf.Tensor) -> tf.Tensor:
    """Returns the rows that this replica gave to `gather_rows`."""
    if num_replicas() == 1:
        return x
    before, _ = _num_other_rows(num_rows)
    return x[before : before + num_rows]


def _num_other_rows(num_rows):
    """The rows of the replicas before this one, and of those after it."""
    replica = replica_id()
    own = tf.one_hot(replica, num_replicas(), dtype=tf.float32)
    counts = tf.cast(
        sum_over_replicas(own * tf.cast(num_rows, tf.float32)), tf.int32
    )
    return tf.reduce_sum(counts[:replica]), tf.reduce_sum(counts[replica + 1 :])
