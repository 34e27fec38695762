"""Folders of sentence-transformers: modules.json, and their Dense weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.read import read_arrays, write_safetensors
from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json

MODULES_FILE = "modules.json"
_KERNEL, _BIAS = "linear.weight", "linear.bias"


def modules_folder(folder: Path) -> Path | None:
    """Returns the folder with modules.json: `folder` or the one above it."""
    if (folder / MODULES_FILE).is_file():
        return folder
    if (folder.parent / MODULES_FILE).is_file():
        for module in read_modules_file(folder.parent)[:1]:
            if module["path"] == folder.name:
                return folder.parent
    return None


def read_modules_file(root: Path) -> list[dict[str, Any]]:
    """Returns the modules of a folder, each with its type and its path."""
    modules = read_json(root / MODULES_FILE, list)
    for module in modules:
        if not (isinstance(module, dict) and {"type", "path"} <= set(module)):
            raise InputError(
                f"{root / MODULES_FILE} has the module {module!r}, but a "
                "module must have a type and a path; copy the file again."
            )
    return modules


def module_class(module: dict[str, Any]) -> str:
    """Returns the class of a module, with its library if that is another."""
    library, _, name = module["type"].partition(".")
    is_known = library == "sentence_transformers"
    return name.rpartition(".")[2] if is_known else module["type"]


def read_dense_modules(folder: Path) -> Arrays:
    """Returns the weights of the Dense modules beside a folder's weights.

    `build_embedder` has them in the layers `dense_0`, `dense_1` and so on.
    A module without a bias gets a bias of zeros.

    Raises:
        FileNotFoundError: If the file of a module is missing.
        InputError: If it has other weights.
    """
    arrays = {}
    for i, module in enumerate(_dense_folders(folder)):
        file = find_weights(module)
        stored = read_arrays(file)
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

    modules.json names their folders. Raises InputError if the weights of a
    folder are missing.
    """
    for i, module in enumerate(_dense_folders(folder)):
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


def _dense_folders(folder):
    root = modules_folder(folder)
    modules = read_modules_file(root) if root else []
    return [root / x["path"] for x in modules if module_class(x) == "Dense"]


def _zeros(kernel):
    size = kernel.shape[1:]
    return StoredArray(size, lambda: np.zeros(size, "float32"))
