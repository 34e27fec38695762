"""The dense layer of BERT: kernel from a truncated normal, bias zero."""

from collections.abc import Callable

import keras


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
    layer = keras.layers.Dense(
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
