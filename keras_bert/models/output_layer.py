"""The dense layer that every fine-tuned model ends with."""

import keras

from keras_bert.config import BertConfig


def build_output_layer(
    config: BertConfig, units: int, name: str
) -> keras.layers.Dense:
    """[..., H] -> float32 [..., units], whatever the model computes in."""
    return keras.layers.Dense(
        units,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=config.initializer_range
        ),
        dtype="float32",
        name=name,
    )
