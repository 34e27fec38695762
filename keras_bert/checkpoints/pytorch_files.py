"""PyTorch's `.bin` files: tensors under their names, read by torch.

Such a file is a pickle, which can name any function and call it. torch reads
only tensors and plain containers, and refuses a file with anything else.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.safetensors_files import shards
from keras_bert.errors import InputError


def read_pytorch(file: Path) -> Arrays:
    """Reads a `.bin` file, or all files that an `.index.json` names.

    Raises InputError if a file is damaged or has anything but tensors, or if
    torch is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise InputError(
            f"{file} is a file of PyTorch, which only torch reads; pip install "
            "'keras-bert-tf[torch]', or get the weights as safetensors."
        ) from error
    # Before, such a file could run code all the same (CVE-2025-32434).
    if torch.__version__ < (2, 6):
        raise InputError(
            f"torch {torch.__version__} does not read {file} safely; install "
            "torch 2.6 or later, or get the weights as safetensors."
        )
    stored: Arrays = {}
    for part in shards(file):
        try:
            # torch does not compare the checksums.
            if zipfile.is_zipfile(part) and zipfile.ZipFile(part).testzip():
                raise ValueError("A checksum is wrong.")
            tensors = torch.load(part, map_location="cpu", weights_only=True)
            for name, tensor in tensors.items():
                stored[name] = StoredArray(
                    tuple(tensor.shape), tensor.detach().float().numpy
                )
        # Its errors are long, and advise to run the file's code.
        except Exception:
            raise InputError(
                f"{part} is not a whole PyTorch checkpoint that holds only "
                "tensors; copy it again, or get the weights as safetensors."
            ) from None
    return stored
