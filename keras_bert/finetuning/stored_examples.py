"""Encoded examples in files, of which a batch reads only its own.

A file holds the examples of one chunk of rows, as safetensors: the values of
each tensor of `Examples`, such as `features/input_ids`, and where its rows
begin; the sizes of the examples; and a checksum.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import math
import os
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors
import tensorflow as tf
from safetensors import numpy as safetensors_numpy

from keras_bert.kinds.examples import Examples, Sizes, pad_batch

_GROUPS = ("features", "labels", "weights")
_CHECKSUM = "checksum"
_SPLITS = np.dtype("int64")
# Limits the open files of the process.
_NUM_OPEN_FILES = 256


class Tensor(NamedTuple):
    """The form of a tensor: [N, (rows, in so many levels), *shape]."""

    num_levels: int
    dtype: np.dtype
    shape: tuple[int, ...]


class StoredChunk(NamedTuple):
    """A file of examples, and what memory holds of it."""

    path: Path
    num_rows: int
    sizes: Sizes
    tensors: dict[str, Tensor]


def write_chunk(path: Path, examples: Examples) -> None:
    """Writes examples to a file that appears when it is whole.

    Several processes may write the same file.
    """
    arrays = {
        name: np.asarray(value, "int32")
        for name, value in examples.sizes._asdict().items()
    }
    for group in _GROUPS:
        for name, tensor in getattr(examples, group).items():
            name = f"{group}/{name}"
            if isinstance(tensor, tf.RaggedTensor):
                for level, splits in enumerate(tensor.nested_row_splits):
                    arrays[_splits(level, name)] = np.asarray(splits, _SPLITS)
                tensor = tensor.flat_values
            arrays[name] = np.ascontiguousarray(tensor)
    arrays[_CHECKSUM] = _checksum(arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        partial.write_bytes(safetensors_numpy.save(arrays))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_chunk(path: Path, num_rows: int) -> StoredChunk | None:
    """Checks a file; returns None if it is absent or damaged."""
    try:
        arrays = safetensors_numpy.load(path.read_bytes())
        checksum = arrays.pop(_CHECKSUM)
    except (FileNotFoundError, KeyError, safetensors.SafetensorError):
        return None
    if checksum != _checksum(arrays):
        return None
    sizes = Sizes(
        arrays["longest"],
        arrays["totals"],
        int(arrays["num_sequences"]),
        bool(arrays["are_choices"]),
    )
    tensors = {
        name: Tensor(_num_levels(arrays, name), values.dtype, values.shape[1:])
        for name, values in arrays.items()
        if name.startswith(_GROUPS)
    }
    return StoredChunk(path, num_rows, sizes, tensors)


class StoredExamples:
    """The examples of several files, in their order.

    Memory holds 8 bytes for each example, its `sizes`.

    Attributes:
        num_rows: The number of rows that were encoded.
        sizes: The numbers of tokens of all examples.
        signature: The specifications of what `take` returns.
    """

    def __init__(self, chunks: Sequence[StoredChunk]):
        self.num_rows = sum(chunk.num_rows for chunk in chunks)
        sizes = [chunk.sizes for chunk in chunks]
        self.sizes = Sizes(
            np.concatenate([x.longest for x in sizes]),
            np.concatenate([x.totals for x in sizes]),
            sum(x.num_sequences for x in sizes),
            sizes[0].are_choices,
        )
        self._tensors = chunks[0].tensors
        self._paths = [chunk.path for chunk in chunks]
        counts = [len(x.totals) for x in sizes]
        self._begins = np.cumsum([0, *counts[:-1]]).tolist()
        self._open = functools.lru_cache(_NUM_OPEN_FILES)(_OpenFile)

    @property
    def signature(self) -> dict[str, tuple[tf.TensorSpec, ...]]:
        return {
            name: (
                *[tf.TensorSpec([None], tf.int64)] * tensor.num_levels,
                tf.TensorSpec([None, *tensor.shape], tensor.dtype),
            )
            for name, tensor in self._tensors.items()
        }

    def take(self, places: np.ndarray) -> dict[str, tuple[np.ndarray, ...]]:
        """Reads some examples.

        Returns the arrays of each tensor: the lengths of the rows of each
        level, and the values.
        """
        pieces: dict[str, list] = {
            name: [[] for _ in range(tensor.num_levels + 1)]
            for name, tensor in self._tensors.items()
        }
        for place in places.tolist():
            number = bisect.bisect(self._begins, place) - 1
            file = self._open(self._paths[number])
            first = place - self._begins[number]
            for name, tensor in self._tensors.items():
                begin, end = first, first + 1
                for level in range(tensor.num_levels):
                    splits = file.read(
                        _splits(level, name), begin, end + 1, _SPLITS
                    )
                    pieces[name][level].append(splits[1:] - splits[:-1])
                    begin, end = int(splits[0]), int(splits[-1])
                pieces[name][-1].append(
                    file.read(name, begin, end, tensor.dtype, tensor.shape)
                )
        return {
            name: tuple(np.concatenate(arrays) for arrays in levels)
            for name, levels in pieces.items()
        }

    def pad(
        self, arrays: dict[str, tuple[tf.Tensor, ...]]
    ) -> tuple[dict[str, tf.Tensor], ...]:
        """Turns what `take` returns into features, labels and weights."""
        groups: dict[str, dict] = {group: {} for group in _GROUPS}
        for name, (*lengths, values) in arrays.items():
            if lengths:
                values = tf.RaggedTensor.from_nested_row_lengths(
                    values, lengths, validate=False
                )
            group, _, name = name.partition("/")
            groups[group][name] = values
        return pad_batch(*groups.values(), shares_rows=self.sizes.shares_rows)


class _OpenFile:
    """Reads parts of the arrays of a file.

    It does not map the file into memory: the memory that the system counts
    for the process would grow with the data.
    """

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_RDONLY)
        size = int.from_bytes(os.pread(self._file, 8, 0), "little")
        header = json.loads(os.pread(self._file, size, 8))
        self._begins = {
            name: 8 + size + array["data_offsets"][0]
            for name, array in header.items()
        }

    def __del__(self):
        os.close(self._file)

    def read(
        self,
        name: str,
        begin: int,
        end: int,
        dtype: np.dtype,
        shape: tuple[int, ...] = (),
    ) -> np.ndarray:
        """Reads array[begin:end] of an array [N, *shape]."""
        row_size = dtype.itemsize * math.prod(shape)
        data = os.pread(
            self._file,
            (end - begin) * row_size,
            self._begins[name] + begin * row_size,
        )
        return np.frombuffer(data, dtype).reshape(end - begin, *shape)


def _splits(level, name):
    return f"splits_{level}/{name}"


def _num_levels(arrays, name):
    levels = itertools.count()
    return next(i for i in levels if _splits(i, name) not in arrays)


def _checksum(arrays):
    checksum = 0
    for name, array in sorted(arrays.items()):
        form = f"{name} {array.dtype} {array.shape}"
        checksum = zlib.crc32(form.encode(), checksum)
        checksum = zlib.crc32(array, checksum)
    return np.array(checksum, "uint32")
