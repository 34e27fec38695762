"""The parts of an optimizer, on TensorFlow: for replicas, and in one pass.

Each op of TensorFlow reads and writes whole arrays; a compiled update reads
and writes every array once. Variables are passed as handles: under a strategy
these belong to the replica, and one trace serves every shape.
"""

from __future__ import annotations

import functools

import keras
import tensorflow as tf


def sum_over_replicas(gradients):
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)


def to_dense(gradient):
    """The gradient of an embedding is a list of rows."""
    return tf.convert_to_tensor(gradient)


def half_square_sum(x):
    return tf.nn.l2_loss(x)


def subtract_product(variable, factor, x):
    """Subtracts factor * x from the variable, in one pass."""
    tf.raw_ops.ResourceApplyGradientDescent(
        var=_handle(variable), alpha=factor, delta=x
    )


def run_update(update, constants, variables, *inputs):
    """Calls update(*variables, *inputs, *constants) as one compiled loop.

    `update` returns new values of the first variables, which are assigned, and
    a tensor, which is returned. All have the dtype of the variables; one of
    the inputs has their shape, the others are scalars.
    """
    dtype = variables[0].dtype
    run = _compiled(update, constants, dtype, len(variables), len(inputs))
    return run(*map(_handle, variables), *(tf.cast(x, dtype) for x in inputs))


@functools.cache
def _compiled(update, constants, dtype, num_variables, num_inputs):
    def run(*arguments):
        handles, inputs = arguments[:num_variables], arguments[num_variables:]
        values = (
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
            for handle in handles
        )
        new_values, result = update(*values, *inputs, *constants)
        for handle, value in zip(handles, new_values, strict=False):
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        return result

    return tf.function(
        run,
        input_signature=[tf.TensorSpec((), tf.resource)] * num_variables
        + [tf.TensorSpec(None, dtype)] * num_inputs,
        autograph=False,
        jit_compile=True,
    )


def _handle(variable):
    if isinstance(variable, keras.Variable):
        variable = variable.value
    return variable.handle
