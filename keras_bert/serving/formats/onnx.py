"""The ONNX format: writing and running it."""

from __future__ import annotations

import importlib
import tempfile
from logging import getLogger
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.serving.formats.network import Run, num_threads, to_specs

# The version of the operations that tf2onnx writes.
_OPSET = 17


def write_onnx(model: keras.Model, precision: str, file: Path) -> None:
    """Writes a network with its names of inputs and outputs.

    With `int8`, ONNX Runtime multiplies integers of 8 bits. Each column of a
    weight has its scale, and so has each input, found while it is computed
    ("dynamic").

    Raises InputError if tf2onnx or ONNX Runtime is not installed.
    """
    tf2onnx = _import("tf2onnx")
    quantization = _import("onnxruntime.quantization")
    getLogger("tf2onnx").setLevel("ERROR")
    specs = to_specs(model.input)
    function = tf.function(
        lambda *tensors: model(dict(zip(specs, tensors, strict=True))),
        input_signature=list(specs.values()),
        autograph=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        float_file = Path(folder, file.name)
        tf2onnx.convert.from_function(
            function,
            input_signature=function.input_signature,
            opset=_OPSET,
            custom_op_handlers={"Erfc": (_erfc, [])},
            output_path=str(float_file),
        )
        if precision == "int8":
            prepared_file = Path(folder, "prepared.onnx")
            quantization.quant_pre_process(
                float_file, prepared_file, skip_symbolic_shape=True
            )
            quantization.quantize_dynamic(
                prepared_file,
                file,
                per_channel=True,
                weight_type=quantization.QuantType.QInt8,
            )
        else:
            file.write_bytes(float_file.read_bytes())


def run_onnx(file: Path) -> Run:
    """Returns a function that runs the network in a file.

    Raises InputError if ONNX Runtime is not installed, or the file is damaged.
    """
    onnxruntime = _import("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads()
    try:
        session = onnxruntime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        # Its errors have no public base class.
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise InputError(
            f"{file} is not an ONNX network; export the model again."
        ) from error
    names = [output.name for output in session.get_outputs()]

    def run(arrays):
        return dict(zip(names, session.run(names, arrays), strict=True))

    return run


def _import(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"The package {name.split('.')[0]} is missing; run pip install "
            "'keras-bert-tf[onnx]'."
        ) from error


def _erfc(graph, node, name, args):
    """Replaces erfc(x), which tf2onnx does not know, by 1 - erf(x)."""
    erf = graph.insert_new_node_on_input(node, "Erf", node.input[0])
    one = graph.make_const(f"{name}_one", np.float32(1.0))
    node.type = "Sub"
    graph.replace_inputs(node, [one.output[0], erf.output[0]])
