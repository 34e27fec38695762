"""The parts of an optimizer on JAX and torch; see `on_tensorflow`."""

from __future__ import annotations

from keras import ops


def sum_over_replicas(gradients):
    return gradients  # one process holds the gradient of the whole batch


def to_dense(gradient):
    return gradient


def half_square_sum(x):
    return 0.5 * ops.sum(ops.square(x))


def subtract_product(variable, factor, x):
    variable.assign_sub(factor * x)


def run_update(update, constants, variables, *inputs):
    values = map(ops.convert_to_tensor, variables)
    new_values, result = update(*values, *inputs, *constants)
    for variable, value in zip(variables, new_values, strict=False):
        variable.assign(value)
    return result
