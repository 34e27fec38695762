"""The format of LiteRT, formerly TensorFlow Lite: writing it."""

from __future__ import annotations

from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.predict.network import to_specs


def write_litert(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network with its names of inputs and outputs.

    With `int8`, LiteRT multiplies integers of 8 bits. Each column of a weight
    has its scale, and so has each row of an input, found while it is computed
    ("dynamic range").

    Raises InputError if the network has an operation that LiteRT lacks.
    """
    module = tf.Module()
    # The converter looks for the variables in the module.
    module.weights = [x.value for x in model.variables]
    module.serve = tf.function(
        lambda **features: model(features, training=False), autograph=False
    )
    function = module.serve.get_concrete_function(**to_specs(model.input))
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function], module
    )
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    try:
        content = converter.convert()
    except Exception as error:
        # The class of the error is not public.
        if type(error).__name__ != "ConverterError":
            raise
        raise InputError(
            f"LiteRT lacks an operation of the network {model.name}; choose "
            "another format, such as onnx."
        ) from error
    file.write_bytes(content)
