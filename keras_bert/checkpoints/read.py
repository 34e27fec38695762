"""A file of weights in any format -> arrays under the paths of our weights."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from keras_bert.checkpoints.find import (
    find_weights,
    local_weights,
    read_json,
    shards,
)
from keras_bert.checkpoints.google import from_google
from keras_bert.checkpoints.huggingface import from_huggingface, is_huggingface
from keras_bert.checkpoints.keras_files import read_keras
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.weight_files import (
    read_h5,
    read_pytorch,
    read_safetensors,
)
from keras_bert.config import check_is_bert
from keras_bert.errors import InputError

_READERS = {
    ".bin": read_pytorch,
    ".h5": read_h5,
    ".keras": read_keras,
    ".safetensors": read_safetensors,
}


def read_file(file: Path) -> Arrays:
    """Reads a file that `find_weights` found, with just what is in it."""
    source = str(file)
    stored = read_arrays(file)
    if not _reader(file):
        return from_google(stored, source)
    if not is_huggingface(stored):
        return stored
    values = read_json(file.parent / "config.json", is_needed=False)
    check_is_bert(values)
    return from_huggingface(
        stored, source, architectures=values.get("architectures") or ()
    )


def read_arrays(file: Path) -> Arrays:
    """Reads a file that `find_weights` found; keys are the names in it."""
    local = local_weights(file)
    if reader := _reader(file):
        parts = [reader(part) for part in shards(local)]
        return {name: array for part in parts for name, array in part.items()}
    try:
        from keras_bert.checkpoints.tensorflow_files import read_tensorflow
    except ModuleNotFoundError as error:
        raise InputError(
            f"{file} is a checkpoint of TensorFlow, which only TensorFlow "
            "can read; pip install tensorflow."
        ) from error
    return read_tensorflow(local)


def fingerprint_of(checkpoint: str | Path) -> str:
    """Hashes all weights of a checkpoint, in any format to the same value."""
    arrays = read_file(find_weights(checkpoint))
    return hash_arrays(arrays, arrays)


def hash_arrays(
    arrays: Mapping[str, StoredArray], paths: Iterable[str], before: str = ""
) -> str:
    """Hashes arrays in float32 and by path, after a text that counts too."""
    digest = hashlib.blake2b(before.encode(), digest_size=16)
    for path in sorted(paths):
        array = np.ascontiguousarray(arrays[path].read(), "<f4")
        digest.update(f"{path} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _reader(file):
    """Returns the reader of a file, or None for the prefix of TensorFlow's."""
    return _READERS.get(Path(file.name.removesuffix(".index.json")).suffix)
