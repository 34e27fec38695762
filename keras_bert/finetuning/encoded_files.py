"""Encoded examples <-> files, which are mapped into memory for training.

A file holds the examples of one chunk of rows, as safetensors: the values of
each tensor of `Examples`, such as `features/input_ids`; where its rows begin;
and a checksum.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import safetensors
import tensorflow as tf
from safetensors import numpy as safetensors_numpy

from keras_bert.io.whole_files import shared_path
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.windows import NUM_WINDOWS

Arrays = Mapping[str, np.ndarray]
_GROUPS = ("features", "labels", "weights")
CHOICES = "choices"
_ROWS = "rows"
_ARE_CHOICES = "are_choices"
_CHECKSUM = "checksum"
_SPLITS = "splits_"


def write_examples(path: Path, examples: Examples) -> None:
    """Writes examples to a file that appears when it is whole.

    Several processes may write the same file.
    """
    arrays = {
        _ROWS: np.asarray(examples.rows, "int64"),
        _ARE_CHOICES: np.array(examples.are_choices, "int64"),
    }
    for group in _GROUPS:
        for name, tensor in getattr(examples, group).items():
            name = f"{group}/{name}"
            if isinstance(tensor, tf.RaggedTensor):
                for level, splits in enumerate(tensor.nested_row_splits):
                    arrays[f"{_SPLITS}{level}/{name}"] = np.asarray(
                        splits, "int64"
                    )
                tensor = tensor.flat_values
            arrays[name] = np.ascontiguousarray(tensor)
    arrays[_CHECKSUM] = _checksum(arrays)
    with shared_path(path) as partial:
        partial.write_bytes(safetensors_numpy.save(arrays))


def read_arrays(path: Path) -> Arrays | None:
    """Returns the arrays of a file; None if it is absent or damaged."""
    try:
        arrays = safetensors_numpy.load(path.read_bytes())
        checksum = arrays.pop(_CHECKSUM)
    except (FileNotFoundError, KeyError, safetensors.SafetensorError):
        return None
    return arrays if checksum == _checksum(arrays) else None


def form(arrays: Arrays) -> dict[str, tuple]:
    """Returns what all files of a data set have in common.

    The dtype and the shape of a value, for each array; and how many sequences
    the examples hold if they are choices, or texts if these have windows.
    """
    forms: dict[str, tuple] = {
        name: (array.dtype.name, array.shape[1:])
        for name, array in arrays.items()
    }
    if arrays[_ARE_CHOICES]:
        splits = arrays[f"{_SPLITS}0/features/input_ids"]
        forms[CHOICES] = (int(splits[1]),)
    elif (name := f"features/{NUM_WINDOWS}") in arrays:
        forms[CHOICES] = arrays[name].shape[1:]
    return forms


def map_examples(paths: Sequence[Path], folder: Path) -> Examples:
    """Joins the examples of files, in a copy that is not in memory.

    The copy is in the folder, without a name: it vanishes with the process.
    """
    with contextlib.ExitStack() as stack:
        files: dict = {}
        ends: dict[str, int] = {}
        arrays: Arrays = {}
        for path in paths:
            arrays = read_arrays(path) or {}
            if not arrays:
                raise OSError(f"{path} is gone or damaged; start again.")
            for name, array in arrays.items():
                if name not in files:
                    files[name] = stack.enter_context(
                        tempfile.TemporaryFile(dir=folder)
                    )
                elif name.startswith(_SPLITS):
                    array = array[1:]
                if name == _ROWS or name.startswith(_SPLITS):
                    array = array + ends.get(name, 0)
                    ends[name] = int(array[-1]) + (name == _ROWS)
                files[name].write(array.tobytes())
        mapped = {
            name: _map(files[name], array.dtype, array.shape[1:])
            for name, array in arrays.items()
            if name != _ARE_CHOICES
        }
    groups: dict[str, dict] = {group: {} for group in _GROUPS}
    for name in mapped:
        group, _, key = name.partition("/")
        if group in groups:
            groups[group][key] = _ragged(name, mapped)
    return Examples(
        groups["features"],
        mapped[_ROWS],
        groups["labels"],
        groups["weights"],
        are_choices=bool(arrays[_ARE_CHOICES]),
    )


def _map(file, dtype, shape):
    file.flush()
    size = file.tell() // (dtype.itemsize * int(np.prod(shape)))
    if not size:
        return np.zeros((0, *shape), dtype)
    # TensorFlow takes arrays only if they can be written to. Nobody does, and
    # "c" would keep it out of the file.
    return np.asarray(np.memmap(file, dtype, "c", shape=(size, *shape)))


def _ragged(name, mapped):
    levels = (f"{_SPLITS}{level}/{name}" for level in itertools.count())
    splits = itertools.takewhile(mapped.__contains__, levels)
    return tf.RaggedTensor.from_nested_row_splits(
        _tensor(mapped[name]),
        [_tensor(mapped[level]) for level in splits],
        validate=False,
    )


def _tensor(array):
    """Returns a tensor in the same memory."""
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def _checksum(arrays):
    checksum = 0
    for name, array in sorted(arrays.items()):
        head = f"{name} {array.dtype} {array.shape}"
        checksum = zlib.crc32(head.encode(), checksum)
        checksum = zlib.crc32(array, checksum)
    return np.array(checksum, "uint32")
