"""Weights <-> numbers of 8 bits with scales: a quarter of the bytes.

A table has one scale for each row, and a kernel one for each unit. A number is
off by half a scale at most, and the largest one of a row is 127 scales. Vectors
such as biases stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError

# Beside the weight of a path, under the path and this ending.
SCALE = ".scale"
_LARGEST = 127


def to_int8(arrays: Mapping[str, StoredArray]) -> Arrays:
    """Rounds matrices, and adds their scales; see `expand_int8`."""
    stored: Arrays = {}
    for path, array in arrays.items():
        stored[path] = array
        if len(array.shape) == 2:
            values = array.read().astype("float32")
            axis = 0 if path.endswith("kernel") else 1
            largest = np.abs(values).max(axis=axis, keepdims=True)
            scale = np.maximum(largest, np.float32(1e-30)) / _LARGEST
            rounded = np.rint(values / scale).astype("int8")
            stored[path] = _stored(rounded)
            stored[f"{path}{SCALE}"] = _stored(scale)
    return stored


def expand_int8(stored: Mapping[str, StoredArray], source: str) -> Arrays:
    """Returns float32 in place of numbers of 8 bits and their scales.

    Raises InputError if a scale belongs to no array.
    """
    arrays = {x: y for x, y in stored.items() if not x.endswith(SCALE)}
    for name in stored.keys() - arrays.keys():
        path = name.removesuffix(SCALE)
        if path not in arrays:
            raise InputError(
                f"{source} has {name}, but no {path}; copy the file again."
            )
        arrays[path] = _expanded(stored[path], stored[name])
    return arrays


def _stored(array):
    return StoredArray(array.shape, lambda: array)


def _expanded(array, scale):
    return StoredArray(array.shape, lambda: array.read() * scale.read())
