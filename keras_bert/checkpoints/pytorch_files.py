"""PyTorch's `.bin` files, read without PyTorch and without running them.

Such a file is a pickle, which can name any function and call it. Here a pickle
may name only tensors and plain containers, and a file with any other name is
refused.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import pickle
import zipfile
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

from keras_bert.checkpoints.safetensors_files import shards
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError

# The first number in files from before PyTorch 1.6, which are not zip archives.
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


def read_pytorch(file: Path) -> dict[str, StoredArray]:
    """Reads a `.bin` file, or all files that an `.index.json` names.

    Raises InputError if a file is damaged or names anything but tensors.
    """
    stored: dict[str, StoredArray] = {}
    for part in shards(file):
        with _damage_named(part):
            read = _read_zip if zipfile.is_zipfile(part) else _read_legacy
            values, read_storage = read(part)
            stored |= _stored_arrays(values, read_storage, part)
    return stored


@contextlib.contextmanager
def _damage_named(file):
    try:
        yield
    except _Refused as error:
        raise InputError(
            f"{file} names {error}, which does not belong in a table of "
            "tensors, so it was not loaded; get the weights as safetensors."
        ) from None
    # A damaged pickle can raise any of Python's errors.
    except Exception as error:
        raise InputError(
            f"{file} is not a whole PyTorch checkpoint "
            f"({type(error).__name__}: {error}); copy it again."
        ) from error


class _Refused(Exception):
    pass


# A pickle can change the objects that it names. These have no attributes that
# it could set; a NumPy dtype has, and they would hold for the whole process.
class _Storage(NamedTuple):
    """A flat array in the file; `kind` is a key of `_DTYPES`."""

    key: str
    kind: str
    size: int

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(_DTYPES[self.kind])


class _Tensor(NamedTuple):
    """A view of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RebuildTensor:
    __slots__ = ()

    def __call__(self, storage, offset, shape, strides, *_):
        return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _RebuildParameter:
    __slots__ = ()

    def __call__(self, tensor, *_):
        return tensor


_DTYPES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}
_ALLOWED = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_parameter"): _RebuildParameter(),
    ("torch._utils", "_rebuild_tensor"): _RebuildTensor(),
    ("torch._utils", "_rebuild_tensor_v2"): _RebuildTensor(),
} | {("torch", name): name for name in _DTYPES}


class _WholeReads:
    """A file of which no read comes up short."""

    def __init__(self, file):
        self._file = file

    def read(self, size):
        return self._checked(self._file.read(size), size)

    def readline(self):
        line = self._file.readline()
        return self._checked(line, len(line.removesuffix(b"\n")) + 1)

    def _checked(self, data, size):
        if len(data) < size:
            raise EOFError("the end is missing")
        return data


# Not the one in C: a wrong number in a file would make it fill the memory.
class _Unpickler(pickle._Unpickler):
    def __init__(self, file):
        super().__init__(_WholeReads(file))

    def find_class(self, module, name):
        if (module, name) not in _ALLOWED:
            raise _Refused(f"{module}.{name}")
        return _ALLOWED[module, name]

    def persistent_load(self, pid):
        what, kind, key, _, size, *view = pid
        if what != "storage" or any(view):
            raise _Refused(f"an unknown kind of {what}")
        return _Storage(key, kind, size)


def _read_zip(file):
    """Returns the unpickled table and a function: storage -> its bytes."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        table = next(n for n in names if n.endswith("/data.pkl"))
        with archive.open(table) as pickled:
            values = _Unpickler(pickled).load()
    folder = table.removesuffix("data.pkl") + "data/"

    def read(storage):
        with zipfile.ZipFile(file) as archive:
            return archive.read(folder + storage.key)

    return values, read


def _read_legacy(file):
    """Does the same for a file of pickles followed by storages."""
    with file.open("rb") as opened:
        if _Unpickler(opened).load() != _LEGACY_MAGIC:
            raise InputError("unknown format")
        _Unpickler(opened).load()  # the protocol's version
        _Unpickler(opened).load()  # the sizes of the writer's integers
        values = _Unpickler(opened).load()
        keys = _Unpickler(opened).load()
        storages = {t.storage.key: t.storage for t in _tensors(values)}
        if any(storages[t.storage.key] != t.storage for t in _tensors(values)):
            raise InputError("two tensors tell different sizes of a storage")
        places = {}
        for key in keys:
            num_bytes = storages[key].size * storages[key].dtype.itemsize
            # Its size, 8 bytes, precedes each storage.
            places[key] = opened.tell() + 8
            opened.seek(places[key] + num_bytes)
        if opened.tell() > file.stat().st_size:
            raise EOFError("the end is missing")

    def read(storage):
        with file.open("rb") as opened:
            opened.seek(places[storage.key])
            return opened.read(storage.size * storage.dtype.itemsize)

    return values, read


def _tensors(values):
    return [value for value in values.values() if isinstance(value, _Tensor)]


def _stored_arrays(values, read, file):
    def read_tensor(tensor):
        with _damage_named(file):
            return _view(tensor, read(tensor.storage))

    stored = {}
    for name, tensor in values.items():
        if not isinstance(tensor, _Tensor):
            raise _Refused(f"{name!r} as {type(tensor).__name__}")
        _check_bounds(tensor)
        stored[name] = StoredArray(
            tensor.shape, functools.partial(read_tensor, tensor)
        )
    return stored


def _check_bounds(tensor):
    """Raises InputError if a tensor reaches beyond its storage."""
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((n - 1) * step for n, step in steps)
    numbers = (tensor.offset, *tensor.shape, *tensor.strides)
    if min(numbers) < 0 or last >= tensor.storage.size:
        raise InputError("a tensor is larger than its storage")


def _view(tensor, data):
    dtype = tensor.storage.dtype
    # Raises an error if the view reaches beyond the data, unlike as_strided.
    return np.ndarray(
        tensor.shape,
        dtype,
        data,
        tensor.offset * dtype.itemsize,
        [step * dtype.itemsize for step in tensor.strides],
    )
