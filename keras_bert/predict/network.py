"""A network that another runtime computes, called like its Keras model."""

from __future__ import annotations

import dataclasses
import importlib
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.signatures import one_graph
from keras_bert.kinds.spec import build_kind, read_spec
from keras_bert.predict.versions import (
    MODEL_FILES,
    format_of,
    read_description,
)
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings

# Takes and returns arrays by name.
Run = Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]]


@dataclasses.dataclass
class Network:
    """Stands in for a `keras.Model` when a kind of task answers texts.

    Attributes:
        run: Computes arrays.
        input: The specifications of the inputs, by name.
        output: The specifications of the outputs, by name.
    """

    run: Run
    input: dict[str, tf.TensorSpec]
    output: dict[str, tf.TensorSpec]

    def __call__(
        self, features: Mapping[str, tf.Tensor], training: bool = False
    ) -> dict[str, tf.Tensor]:
        """Returns the outputs by name, in a graph or eagerly."""
        tensors = tf.numpy_function(
            self._compute,
            [features[name] for name in self.input],
            [spec.dtype for spec in self.output.values()],
        )
        # Of one output, TensorFlow returns the tensor instead of a list.
        tensors = tf.nest.flatten(tensors)
        outputs = dict(zip(self.output, tensors, strict=True))
        for name, spec in self.output.items():
            outputs[name].set_shape(spec.shape)
        return outputs

    def _compute(self, *arrays):
        outputs = self.run(dict(zip(self.input, arrays, strict=True)))
        return [outputs[name] for name in self.output]


class LoadedNetwork:
    """A version that answers strings as the SavedModel of the same model does.

    If the kind of its task is one of your own, import its file first.

    Attributes:
        signatures: The functions, by name. They take tensors by name.
    """

    def __init__(self, version: Path):
        assets = version / "assets"
        bert_config = BertConfig.from_json(assets / "bert_config.json")
        tokenizer = BertTokenizer.from_settings(
            assets / "vocab.txt",
            TokenizerSettings.from_json(assets / "tokenizer_config.json"),
        )
        kind = build_kind(
            read_spec(assets / "task.json"), tokenizer, bert_config
        )
        network: Any = load_network(version)
        self.signatures = {
            name: _by_name(signature)
            for name, signature in kind.signatures(network).items()
        }


def load_network(version: Path) -> Network:
    """Loads the network of a version.

    Raises InputError if its runtime is not installed, or its file is damaged.
    """
    model_format = format_of(version)
    run = {"litert": _run_litert, "onnx": _run_onnx}[model_format]
    network = read_description(version)["network"]
    inputs, outputs = (
        {
            name: tf.TensorSpec(value["shape"], value["dtype"], name)
            for name, value in network[side].items()
        }
        for side in ("inputs", "outputs")
    )
    return Network(run(version / MODEL_FILES[model_format]), inputs, outputs)


def to_specs(tensors: Mapping) -> dict[str, tf.TensorSpec]:
    """Returns the specifications of `model.input` or `model.output`."""
    return {
        name: tf.TensorSpec(x.shape, x.dtype, name)
        for name, x in tensors.items()
    }


def import_engine(name: str, extra: str = "onnx") -> Any:
    """Imports a module of an extra, or says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("_", "-")
        raise InputError(
            f"The package {package} is missing; run pip install "
            f"'keras-bert-tf[{extra}]'."
        ) from error


def _run_litert(file: Path) -> Run:
    litert = import_engine("ai_edge_litert.interpreter", "litert")
    try:
        interpreter = litert.Interpreter(str(file), num_threads=_num_threads())
    except ValueError as error:
        raise _damaged(file, "a LiteRT network") from error
    serve = interpreter.get_signature_runner("serving_default")
    lock = threading.Lock()  # calls share the buffers of the interpreter

    def run(arrays):
        with lock:
            return serve(**arrays)

    return run


def _run_onnx(file: Path) -> Run:
    onnxruntime = import_engine("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _num_threads()
    try:
        session = onnxruntime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        # Its errors have no public base class.
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise _damaged(file, "an ONNX network") from error
    names = [output.name for output in session.get_outputs()]
    return lambda x: dict(zip(names, session.run(names, x), strict=True))


def _damaged(file, what):
    return InputError(f"{file} is not {what}; export the model again.")


def _num_threads():
    return len(os.sched_getaffinity(0))


def _by_name(signature):
    function = one_graph(signature.function, signature.inputs)
    names = [spec.name for spec in signature.inputs]
    return lambda **texts: function(*(texts[name] for name in names))
