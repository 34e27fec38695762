"""A file of weights in any format -> arrays under the paths of our weights."""

from __future__ import annotations

from pathlib import Path

from keras_bert.checkpoints.find import local_weights
from keras_bert.checkpoints.google import from_google
from keras_bert.checkpoints.huggingface import from_huggingface, is_huggingface
from keras_bert.checkpoints.huggingface_config import read_huggingface_config
from keras_bert.checkpoints.model_garden import (
    from_model_garden,
    is_model_garden,
)
from keras_bert.checkpoints.pytorch_files import read_pytorch
from keras_bert.checkpoints.safetensors_files import read_safetensors
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.config import check_is_bert
from keras_bert.errors import InputError


def read_file(file: Path) -> dict[str, StoredArray]:
    """Reads a file that `find_weights` found, with just what is in it."""
    source = str(file)
    local = local_weights(file)
    if not local.is_file():
        stored = _read_tensorflow(local, source)
        if is_model_garden(stored):
            return from_model_garden(stored, source)
        return from_google(stored, source)
    is_pytorch = ".bin" in file.suffixes
    stored = read_pytorch(local) if is_pytorch else read_safetensors(local)
    if not is_huggingface(stored):
        return stored
    values = read_huggingface_config(file.parent)
    check_is_bert(values)
    return from_huggingface(
        stored, source, architectures=values.get("architectures") or ()
    )


def _read_tensorflow(prefix, source):
    try:
        from keras_bert.checkpoints.tensorflow_files import read_tensorflow
    except ModuleNotFoundError as error:
        raise InputError(
            f"{source} is a checkpoint of TensorFlow, which only TensorFlow "
            "can read; pip install tensorflow."
        ) from error
    return read_tensorflow(prefix)
