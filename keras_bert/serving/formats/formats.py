"""The formats that hold a network, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras

from keras_bert.serving.formats.litert import run_litert, write_litert
from keras_bert.serving.formats.network import Run
from keras_bert.serving.formats.onnx import run_onnx, write_onnx


class NetworkFormat(NamedTuple):
    """A format of networks, without the graph that reads texts.

    Attributes:
        write: Writes a model, in a precision, to a file.
        run: Loads a file.
    """

    write: Callable[[keras.Model, str, Path], None]
    run: Callable[[Path], Run]


NETWORK_FORMATS = {
    "litert": NetworkFormat(write_litert, run_litert),
    "onnx": NetworkFormat(write_onnx, run_onnx),
}
