"""The formats of an exported model, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras

from keras_bert.errors import InputError
from keras_bert.serving.formats.litert import run_litert, write_litert
from keras_bert.serving.formats.network import Run
from keras_bert.serving.formats.onnx import run_onnx, write_onnx
from keras_bert.serving.versions import MODEL_FILES
from keras_bert.settings import check_settings, setting


class NetworkFormat(NamedTuple):
    """A format that holds a network, without the graph that reads texts.

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


@dataclasses.dataclass(frozen=True)
class ExportConfig:
    """The settings of `FinetunedModel.export`.

    Attributes:
        format: saved_model takes strings; litert and onnx hold the network
            alone, which takes ids.
        precision: The numbers of the exported network: float32; int8, for
            litert and onnx; bfloat16, for a saved_model that runs on a
            machine with instructions for it.

    Example:
        >>> keras_bert.ExportConfig(format="litert", precision="int8").format
        'litert'
    """

    format: str = setting("saved_model", choices=tuple(MODEL_FILES))
    precision: str = setting("float32", choices=("float32", "bfloat16", "int8"))

    def __post_init__(self):
        check_settings(self)
        special = "bfloat16" if self.format == "saved_model" else "int8"
        if self.precision not in ("float32", special):
            raise InputError(
                f"The format {self.format} has no precision {self.precision}; "
                f"choose float32 or {special}."
            )
