"""The format of LiteRT, formerly TensorFlow Lite: writing and running it."""

from __future__ import annotations

import threading
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.serving.formats.network import Run, num_threads, to_specs


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


def run_litert(file: Path) -> Run:
    """Returns a function that runs the network in a file.

    Raises InputError if LiteRT is not installed, or the file is damaged.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise InputError(
            "The package ai-edge-litert is missing; run pip install "
            "'keras-bert-tf[litert]'."
        ) from error
    try:
        interpreter = Interpreter(str(file), num_threads=num_threads())
    except ValueError as error:
        raise InputError(
            f"{file} is not a LiteRT network; export the model again."
        ) from error
    serve = interpreter.get_signature_runner("serving_default")
    lock = threading.Lock()  # calls share the buffers of the interpreter

    def run(arrays):
        with lock:
            return serve(**arrays)

    return run
