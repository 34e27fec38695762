"""The dense layer of BERT: kernel from a truncated normal, bias zero."""

from collections.abc import Callable

import keras
from keras import ops


class _Dense(keras.layers.Dense):
    """Sums the gradient of its bias in float32, whatever the precision.

    Given a vector to add, Keras takes TensorFlow's bias_add, whose gradient
    on a CPU is summed in the dtype of the input: in bfloat16 a sum of ones
    never gets over 256. Where no gradient is taken, bias_add is faster.
    """

    def call(self, inputs, training=None):
        if not training or self.compute_dtype == self.variable_dtype:
            return super().call(inputs, training=training)
        x = ops.matmul(inputs, self.kernel) + self.bias[None]
        return x if self.activation is None else self.activation(x)


def build_dense(
    name: str,
    input_size: int,
    units: int,
    *,
    initializer_range: float,
    dtype: keras.DTypePolicy | str,
    activation: Callable | str | None = None,
) -> keras.layers.Dense:
    """Returns a built layer [T, input_size] -> [T, units]."""
    layer = _Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=initializer_range
        ),
        dtype=dtype,
        name=name,
    )
    layer.build((None, input_size))
    return layer
