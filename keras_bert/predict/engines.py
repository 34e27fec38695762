"""The runtimes that compute a network in a file, beside TensorFlow."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.errors import InputError

# Takes and returns arrays by name.
Run = Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]]


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
        interpreter = Interpreter(str(file), num_threads=_num_threads())
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


def run_onnx(file: Path) -> Run:
    """Returns a function that runs the network in a file.

    Raises InputError if ONNX Runtime is not installed, or the file is damaged.
    """
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
        raise InputError(
            f"{file} is not an ONNX network; export the model again."
        ) from error
    names = [output.name for output in session.get_outputs()]

    def run(arrays):
        return dict(zip(names, session.run(names, arrays), strict=True))

    return run


# Loads a file of a format.
ENGINES: dict[str, Callable[[Path], Run]] = {
    "litert": run_litert,
    "onnx": run_onnx,
}


def import_engine(name: str) -> Any:
    """Imports a module of ONNX Runtime or tf2onnx, or says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"The package {name.split('.')[0]} is missing; run pip install "
            "'keras-bert-tf[onnx]'."
        ) from error


def _num_threads():
    return len(os.sched_getaffinity(0))
