"""Adam's moments, advanced inside a loop that XLA compiles.

Each op of TensorFlow reads and writes whole arrays; a compiled update reads
and writes every array once. Variables are passed as handles: under a strategy
these belong to the replica, and one trace serves every shape.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf


def compile_update(update: Callable, dtype, num_scalars: int) -> Callable:
    """Compiles update(variable, momentum, velocity, gradient, *scalars).

    The first three are handles of variables of one dtype and shape.
    """
    handle = tf.TensorSpec((), tf.resource)
    return tf.function(
        update,
        input_signature=[handle] * 3
        + [tf.TensorSpec(None, dtype)]
        + [tf.TensorSpec((), dtype)] * num_scalars,
        autograph=False,
        jit_compile=True,
    )


def advance_moments(momentum, velocity, gradient, beta_1, beta_2):
    """Updates the moments behind two handles and returns their values."""
    m = read(momentum, gradient.dtype)
    v = read(velocity, gradient.dtype)
    m += (gradient - m) * (1 - beta_1)
    v += (gradient * gradient - v) * (1 - beta_2)
    assign(momentum, m)
    assign(velocity, v)
    return m, v


def read(handle, dtype):
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def assign(handle, value):
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)
