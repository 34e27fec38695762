"""A checkpoint -> a hash of its weights, the same for every format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from keras_bert.checkpoints.any_format import read_file
from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.stored import StoredArray


def fingerprint_of(checkpoint: str | Path) -> str:
    """Hashes all weights of a checkpoint."""
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
