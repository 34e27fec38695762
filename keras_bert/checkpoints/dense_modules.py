"""Dense modules of sentence-transformers <-> weights of `build_embedder`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from keras_bert.checkpoints.find import find_weights, local_weights
from keras_bert.checkpoints.modules_file import dense_folders
from keras_bert.checkpoints.pytorch_files import read_pytorch
from keras_bert.checkpoints.safetensors_files import (
    read_safetensors,
    write_safetensors,
)
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError

_KERNEL, _BIAS = "linear.weight", "linear.bias"


def read_dense_modules(folder: Path) -> dict[str, StoredArray]:
    """Returns the weights of the Dense modules beside a folder's weights.

    A module without a bias gets a bias of zeros.

    Raises:
        FileNotFoundError: If the file of a module is missing.
        InputError: If it has other weights.
    """
    arrays = {}
    for i, module in enumerate(dense_folders(folder)):
        file = local_weights(find_weights(module))
        read = read_pytorch if file.suffix == ".bin" else read_safetensors
        stored = read(file)
        if not {_KERNEL} <= set(stored) <= {_KERNEL, _BIAS}:
            raise InputError(
                f"{file} has the weights {', '.join(stored)}, but a Dense "
                f"module has {_KERNEL} and {_BIAS}; choose another model."
            )
        kernel = stored[_KERNEL].transposed
        arrays[f"dense_{i}/kernel"] = kernel
        arrays[f"dense_{i}/bias"] = stored.get(_BIAS) or _zeros(kernel)
    return arrays


def write_dense_modules(
    folder: Path, arrays: Mapping[str, StoredArray]
) -> None:
    """Writes the weights of `dense_0`, `dense_1` and so on, if there are any.

    Their folders are those of `module_files`. Raises InputError if the weights
    of a folder are missing.
    """
    for i, module in enumerate(dense_folders(folder)):
        if f"dense_{i}/kernel" not in arrays:
            raise InputError(
                f"The checkpoint has no weights of the layer dense_{i}, which "
                "the setting dense asks for; train it first, or leave it out."
            )
        stored = {
            _KERNEL: arrays[f"dense_{i}/kernel"].transposed,
            _BIAS: arrays[f"dense_{i}/bias"],
        }
        write_safetensors(module / "model.safetensors", stored)


def _zeros(kernel):
    size = kernel.shape[1:]
    return StoredArray(size, lambda: np.zeros(size, "float32"))
