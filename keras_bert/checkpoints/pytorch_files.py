"""PyTorch's `.bin` files: tensors under their names, and no code is run.

Such a file is a pickle, which can name any function and call it. Here a pickle
may name only tensors and plain containers, and a file with any other name is
refused.
"""

from __future__ import annotations

import collections
import functools
import io
import pickle
import zipfile
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.safetensors_files import shards
from keras_bert.errors import InputError

# How files from before PyTorch 1.6 begin, which are not zip archives.
_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
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


def read_pytorch(file: Path) -> Arrays:
    """Reads a `.bin` file, or all files that an `.index.json` names.

    Files from before PyTorch 1.6 are read by torch, if it is installed.

    Raises InputError if a file is damaged or names anything but tensors.
    """
    stored: Arrays = {}
    for part in shards(file):
        with part.open("rb") as opened:
            is_legacy = opened.read(len(_LEGACY)) == _LEGACY
        stored |= _read_legacy(part) if is_legacy else _read_zip(part)
    return stored


def _read_zip(file):
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            table = next(x for x in names if x.endswith("/data.pkl"))
            # Reads all of it, and so compares its checksum.
            tensors = _Unpickler(io.BytesIO(archive.read(table))).load()
        for name, tensor in tensors.items():
            _check(name, tensor)
    # A damaged pickle can raise any of Python's errors.
    except Exception as error:
        raise _not_loaded(file, repr(error)) from None
    folder = table.removesuffix("data.pkl") + "data/"

    def read(tensor):
        dtype = np.dtype(_DTYPES[tensor.kind])
        try:
            with zipfile.ZipFile(file) as archive:
                data = archive.read(folder + tensor.key)
            # Raises an error if the view reaches beyond the data, unlike
            # as_strided.
            return np.ndarray(
                tensor.shape,
                dtype,
                data,
                tensor.offset * dtype.itemsize,
                [step * dtype.itemsize for step in tensor.strides],
            )
        except Exception as error:
            raise _not_loaded(file, repr(error)) from None

    return {
        name: StoredArray(tensor.shape, functools.partial(read, tensor))
        for name, tensor in tensors.items()
    }


def _read_legacy(file):
    try:
        import torch
    except ModuleNotFoundError as error:
        raise InputError(
            f"{file} is of a release of PyTorch before 1.6, which only torch "
            "reads; pip install torch, or get the weights as safetensors."
        ) from error
    # Before, such a file could run code all the same (CVE-2025-32434).
    if torch.__version__ < (2, 6):
        raise InputError(
            f"torch {torch.__version__} does not read {file} safely; install "
            "torch 2.6 or later, or get the weights as safetensors."
        )
    try:
        tensors = torch.load(file, map_location="cpu", weights_only=True)
        return {
            name: StoredArray(tuple(x.shape), x.detach().float().numpy)
            for name, x in tensors.items()
        }
    except Exception:  # its errors are long, and advise to run the file's code
        raise _not_loaded(file, "torch refuses it") from None


def _not_loaded(file, why):
    return InputError(
        f"{file} is not a whole PyTorch checkpoint that holds only tensors "
        f"({why}); copy it again, or get the weights as safetensors."
    )


# A pickle can change the objects that it names. These have no attributes that
# it could set; a NumPy dtype has, and they would hold for the whole process.
class _Tensor(NamedTuple):
    """A view of a storage, which is a flat array in the file."""

    key: str
    kind: str
    size: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Rebuild:
    """Stands for the functions of torch that make tensors and parameters."""

    __slots__ = ()

    def __call__(self, of, *args):
        if isinstance(of, _Tensor):  # a parameter
            return of
        offset, shape, strides, *_ = args
        return _Tensor(*of, offset, tuple(shape), tuple(strides))


_ALLOWED = {("torch", name): name for name in _DTYPES} | {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_parameter"): _Rebuild(),
    ("torch._utils", "_rebuild_tensor"): _Rebuild(),
    ("torch._utils", "_rebuild_tensor_v2"): _Rebuild(),
}


# Not the one in C: a wrong number in a file would make it fill the memory.
class _Unpickler(pickle._Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return _ALLOWED[module, name]

    def persistent_load(self, pid):
        what, kind, key, _, size = pid
        if what != "storage" or kind not in _DTYPES:
            raise pickle.UnpicklingError(f"it names an unknown {what}")
        return key, kind, size


def _check(name, tensor):
    """Raises an error for what is not a tensor within its storage."""
    if not isinstance(tensor, _Tensor):
        raise TypeError(f"{name!r} is of type {type(tensor).__name__}")
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((n - 1) * step for n, step in steps)
    numbers = (tensor.offset, *tensor.shape, *tensor.strides)
    if min(numbers) < 0 or last >= tensor.size:
        raise ValueError(f"{name!r} is larger than its storage")
