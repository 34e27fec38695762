"""The last layer of every fine-tuned model."""

from collections.abc import Callable

import keras

from keras_bert.config import BertConfig


def build_output_layer(
    config: BertConfig,
    units: int,
    name: str,
    activation: Callable | None = None,
) -> keras.layers.Dense:
    """Returns a layer [..., H] -> [..., units] that computes in float32."""
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=config.initializer_range
        ),
        dtype="float32",
        name=name,
    )
