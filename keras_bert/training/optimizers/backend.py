"""The parts of an optimizer that differ between the backends of Keras.

Each op of TensorFlow reads and writes whole arrays; a compiled update reads
and writes every array once. There, variables are passed as handles: under a
strategy these belong to the replica, and one trace serves every shape.
"""

import functools

import keras
from keras import ops

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_bert.training.distribution import sum_over_replicas

    def sum_dense(gradients):
        """Returns the sums over the replicas.

        The gradient of an embedding is a list of rows, and becomes dense.
        """
        return sum_over_replicas([tf.convert_to_tensor(g) for g in gradients])

    def half_square_sum(x):
        return tf.nn.l2_loss(x)

    def subtract_product(variable, factor, x):
        """Subtracts factor * x from the variable, in one pass."""
        tf.raw_ops.ResourceApplyGradientDescent(
            var=variable.value.handle, alpha=factor, delta=x
        )

    def run_update(update, constants, variables, *inputs, is_compiled=True):
        """Calls update(*variables, *inputs, *constants), as one compiled loop.

        `update` returns new values of the first variables, which are assigned,
        and a tensor, which is returned. All have the dtype of the variables;
        one of the inputs has their shape, all other inputs are scalars.
        """
        dtype, counts = variables[0].dtype, (len(variables), len(inputs))
        run = _runner(update, constants, dtype, *counts, is_compiled)
        return run(
            *(variable.value.handle for variable in variables),
            *(tf.cast(x, dtype) for x in inputs),
        )

    @functools.cache
    def _runner(
        update, constants, dtype, num_variables, num_inputs, is_compiled
    ):
        def run(*arguments):
            handles = arguments[:num_variables]
            values = (
                tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
                for handle in handles
            )
            new_values, result = update(
                *values, *arguments[num_variables:], *constants
            )
            for handle, value in zip(handles, new_values, strict=False):
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)
            return result

        if not is_compiled:
            return run
        signature = [tf.TensorSpec((), tf.resource)] * num_variables
        signature += [tf.TensorSpec(None, dtype)] * num_inputs
        # A trace within the trace of a step would keep its graph, and so the
        # weights of the network, for as long as this cache lives.
        with tf.init_scope():
            return tf.function(
                run, signature, autograph=False, jit_compile=True
            ).get_concrete_function()

else:

    def sum_dense(gradients):
        return gradients  # of the whole batch already, and dense

    def half_square_sum(x):
        return 0.5 * ops.sum(ops.square(x))

    def subtract_product(variable, factor, x):
        variable.assign_sub(factor * x)

    def run_update(update, constants, variables, *inputs, is_compiled=True):
        values = map(ops.convert_to_tensor, variables)
        new_values, result = update(*values, *inputs, *constants)
        for variable, value in zip(variables, new_values, strict=False):
            variable.assign(value)
        return result
