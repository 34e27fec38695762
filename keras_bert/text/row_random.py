"""Random numbers that depend on a row only, not on its batch.

`tf.random.stateless_uniform` has one seed for a whole batch. Here each row has
a seed of its own. The generator is SplitMix64 (Steele, Lea and Flood 2014),
which is a function of a counter.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_bits(seeds: tf.Tensor, stream: int, columns: tf.Tensor) -> tf.Tensor:
    """Draws 64 random bits for each column of each row: uint64 [B, columns].

    Args:
        seeds: Integers [B, any number], such as (seed, epoch, record).
        stream: Each number gives independent bits.
        columns: Integers [columns] or [B, columns]; the same column of the
            same row always has the same bits.
    """
    seeds = tf.cast(seeds, tf.uint64)
    key = tf.fill([tf.shape(seeds)[0]], np.uint64(stream))
    for seed in tf.unstack(seeds, axis=1):
        key = _mix(key + _GOLDEN) ^ seed
    key = _mix(key + _GOLDEN)[:, None]
    return _mix(key + (tf.cast(columns, tf.uint64) + 1) * _GOLDEN)


def to_uniform(bits: tf.Tensor) -> tf.Tensor:
    """Random bits -> float32, at least 0 and below 1."""
    return tf.cast(_right(bits, 40), tf.float32) * 2.0**-24


def to_integers(bits: tf.Tensor, limit: int | tf.Tensor) -> tf.Tensor:
    """Random bits -> int32, at least 0 and below `limit`."""
    limit = tf.cast(limit, tf.uint64)
    return tf.cast(_right(_right(bits, 32) * limit, 32), tf.int32)


def to_order(bits: tf.Tensor) -> tf.Tensor:
    """Random bits -> int32 that are at least 0, as keys for sorting."""
    return tf.cast(_right(bits, 33), tf.int32)


def _mix(x):
    x = (x ^ _right(x, 30)) * _FACTORS[0]
    x = (x ^ _right(x, 27)) * _FACTORS[1]
    return x ^ _right(x, 31)


def _right(x, places):
    return tf.bitwise.right_shift(x, np.uint64(places))
