"""The parts of an optimizer that differ between Keras' backends.

An update of several TensorFlow operations would read and write whole arrays in
each operation; a compiled update reads and writes each array only once. A
compiled update takes the handles of variables: under a strategy, these are the
handles of the replica's own variables, and a function of handles is traced only
once, for variables of all shapes.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
from keras import ops

from keras_bert.training.losses import Tensor

Tensors = Sequence[Tensor]
# What an update returns: new values of the first variables, and a result.
Updated = tuple[Tensors, Tensor]


class Constants(NamedTuple):
    """The arguments of an optimizer that `update` needs."""

    decay: float
    beta_1: float
    beta_2: float
    epsilon: float


# A function of the values of variables, of other inputs and of the constants.
Update = Callable[[Tensors, Tensors, Constants], Updated]

_IS_TENSORFLOW = keras.backend.backend() == "tensorflow"
if _IS_TENSORFLOW:
    import tensorflow as tf

    from keras_bert.training.distribution import sum_over_replicas


def sum_dense(gradients: Tensors) -> Tensors:
    """Returns dense gradients, summed over the replicas.

    The given gradient of an embedding may be sparse: a list of rows.
    """
    if not _IS_TENSORFLOW:
        return gradients  # of the whole batch already, and dense
    return sum_over_replicas([tf.convert_to_tensor(g) for g in gradients])


def half_square_sum(x: Tensor) -> Tensor:
    if not _IS_TENSORFLOW:
        return 0.5 * ops.sum(ops.square(x))
    return tf.nn.l2_loss(x)


def subtract_product(
    variable: keras.Variable, factor: Tensor, x: Tensor
) -> None:
    """Subtracts factor * x from the variable, in one pass."""
    if not _IS_TENSORFLOW:
        variable.assign_sub(factor * x)
        return
    tf.raw_ops.ResourceApplyGradientDescent(
        var=variable.value.handle, alpha=factor, delta=x
    )


def run_update(
    update: Update,
    constants: Constants,
    variables: Sequence[keras.Variable],
    inputs: Tensors,
    is_compiled: bool,
) -> Tensor:
    """Calls `update` on variables, as one compiled loop if `is_compiled`.

    `update` returns new values of the first variables, which are assigned, and
    a tensor, which is returned. All tensors have the dtype of the variables.
    One of the inputs has the variables' shape; all other inputs are scalars.
    """
    if not _IS_TENSORFLOW:
        values = [ops.convert_to_tensor(v) for v in variables]
        new_values, result = update(values, inputs, constants)
        for variable, value in zip(variables, new_values, strict=False):
            variable.assign(value)
        return result
    dtype, counts = variables[0].dtype, (len(variables), len(inputs))
    run = _runner(update, constants, dtype, *counts, is_compiled)
    return run(
        *(variable.value.handle for variable in variables),
        *(tf.cast(x, dtype) for x in inputs),
    )


@functools.cache
def _runner(
    update: Update,
    constants: Constants,
    dtype: str,
    num_variables: int,
    num_inputs: int,
    is_compiled: bool,
) -> Callable[..., Tensor]:
    """Returns `update` as a function of variables' handles and of inputs."""

    def run(*arguments: Tensor) -> Tensor:
        handles = arguments[:num_variables]
        values = [
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
            for handle in handles
        ]
        inputs = arguments[num_variables:]
        new_values, result = update(values, inputs, constants)
        for handle, value in zip(handles, new_values, strict=False):
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        return result

    if not is_compiled:
        return run
    signature = [tf.TensorSpec((), tf.resource)] * num_variables
    signature += [tf.TensorSpec(None, dtype)] * num_inputs
    # A trace within the trace of a step would keep the graph of the step, and
    # so the weights of the network, in memory as long as this cache lives.
    with tf.init_scope():
        return tf.function(
            run, signature, autograph=False, jit_compile=True
        ).get_concrete_function()
