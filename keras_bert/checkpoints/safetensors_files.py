"""Safetensors: one file, or several files with an index."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
from safetensors import numpy as safetensors_numpy

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError
from keras_bert.io.whole_files import full_disk_named


def read_safetensors(file: Path) -> Arrays:
    """Reads a `.safetensors` file, or all files that an `.index.json` names.

    Raises InputError if a file is damaged.
    """
    stored = {}
    for part in shards(file):
        opened = _open(part)
        for name in opened.keys():  # noqa: SIM118 (not a dict)
            shape = tuple(opened.get_slice(name).get_shape())
            stored[name] = StoredArray(
                shape, functools.partial(opened.get_tensor, name)
            )
    return stored


def write_safetensors(file: Path, stored: Mapping[str, StoredArray]) -> None:
    """Writes float32 arrays, with the metadata that transformers expects.

    Raises OSError if the disk is full.
    """
    arrays = {
        name: np.ascontiguousarray(array.read(), np.float32)
        for name, array in stored.items()
    }
    with full_disk_named(file, safetensors.SafetensorError):
        safetensors_numpy.save_file(arrays, file, metadata={"format": "pt"})


def shards(file: Path) -> list[Path]:
    """Returns the files that an index names, or the file itself."""
    if not file.name.endswith(".index.json"):
        return [file]
    try:
        weight_map = json.loads(file.read_text(encoding="utf-8"))["weight_map"]
        names = sorted(set(weight_map.values()))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} is not an index of weight files: it has no weight_map "
            "from names to files. Copy it again."
        ) from error
    return [file.parent / name for name in names]


def _open(file):
    try:
        # The default maps the file into memory, which then counts it twice.
        return safetensors.safe_open(file, framework="np", backend="pread")
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{file} is not a whole safetensors file ({error}); copy or "
            "train it again."
        ) from error
