"""LoRA checkpoints: adapters and heads, with the path of their base model.

The file `adapters.json` beside the weights contains the path of the base model
and a fingerprint of its encoder. If you move the base model, edit the path in
`adapters.json`.
"""

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np

from keras_bert.checkpoints.find import SCHEME, find_weights, shipped_folder
from keras_bert.checkpoints.heads import heads_of, without_heads
from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.checkpoints.read import hash_arrays, read_file
from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import read_json
from keras_bert.settings import CheckedSettings

ADAPTERS_FILE = "adapters.json"
_A, _B = "lora_kernel_a", "lora_kernel_b"  # Keras' names


@dataclasses.dataclass(frozen=True)
class BaseModel(CheckedSettings):
    """The model that adapters belong to, as `adapters.json` describes it.

    Attributes:
        base_checkpoint: The path, URL or name of the model, such as
            `hf://owner/name` or a model in this package.
        base_fingerprint: A hash of the encoder's weights, the same for every
            format of the checkpoint.
        lora_alpha: The scale of the adapters. An adapter is multiplied by this
            number divided by the adapter's rank.
    """

    base_checkpoint: str
    base_fingerprint: str
    lora_alpha: float

    @classmethod
    def of(cls, checkpoint: str | Path, lora_alpha: float) -> Self:
        """Returns a description of the checkpoint that adapters belong to."""
        place = str(checkpoint)
        is_name = place.startswith(SCHEME) or shipped_folder(place)
        if not is_name and not is_remote(to_path(place)):
            place = str(to_path(place).absolute())
        return cls(place, _fingerprint(find_weights(place)), lora_alpha)

    @classmethod
    def beside(cls, file: Path) -> Self:
        """Returns the base model that is named beside a weights file.

        The file `adapters.json` names it. Raises FileNotFoundError if there is
        no such file, and InputError if the file is damaged.
        """
        path = file.with_name(ADAPTERS_FILE)
        values = read_json(path)
        try:
            return cls(**values)
        except (InputError, TypeError) as error:
            raise InputError(
                f"{path} is damaged ({error}); copy it again."
            ) from error

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def is_adapter(path: str) -> bool:
    """Returns whether the weight at a path belongs to an adapter."""
    return path.endswith((f"/{_A}", f"/{_B}"))


def is_stored_with_adapters(path: str) -> bool:
    """Returns whether a checkpoint with adapters contains the weight at a path.

    Such a checkpoint contains the adapters and the heads; the base model
    contains all other weights.
    """
    return is_adapter(path) or bool(heads_of([path]))


def has_adapters(paths: Iterable[str]) -> bool:
    return any(map(is_adapter, paths))


def merge_into_base(arrays: Arrays, file: Path) -> Arrays:
    """Returns a base model's arrays, with merged adapters and new heads.

    `arrays` are the adapters and heads in `file`; the heads replace the base
    model's heads. Raises InputError if the base model is missing, or has
    changed since the adapters were trained.
    """
    base = BaseModel.beside(file)
    try:
        base_file = find_weights(base.base_checkpoint)
    except OSError as error:
        raise InputError(
            f"The base model of {file} is not at {base.base_checkpoint}; put "
            f"it back, or write its new path into {ADAPTERS_FILE}."
        ) from error
    base_arrays = read_file(base_file)
    if _fingerprint(base_file) != base.base_fingerprint:
        raise InputError(
            f"The adapters in {file} were not trained on the model "
            f"{base.base_checkpoint}; put the right base model there, or write "
            f"its path into {ADAPTERS_FILE}."
        )
    if has_adapters(base_arrays):
        base_arrays = merge_into_base(base_arrays, base_file)
    whole = without_heads(base_arrays, heads_of(base_arrays))
    for path, array in arrays.items():
        if not is_adapter(path):
            whole[path] = array
        elif path.endswith(_A):
            kernel = path.removesuffix(_A) + "kernel"
            b = arrays[path.removesuffix(_A) + _B]
            whole[kernel] = _merged(whole[kernel], array, b, base.lora_alpha)
    return whole


def _merged(
    kernel: StoredArray, a: StoredArray, b: StoredArray, alpha: float
) -> StoredArray:
    def read() -> np.ndarray:
        update = a.read() @ b.read() * np.float32(alpha / a.shape[1])
        return kernel.read().astype("float32") + update

    return StoredArray(kernel.shape, read)


def _fingerprint(file: Path) -> str:
    """Returns a hash of the encoder's weights in a checkpoint."""
    arrays = read_file(file)
    before = ""
    if has_adapters(arrays):
        # The adapters and the base model's fingerprint are hashed, not the
        # merged weights, because the products of the adapters' matrices differ
        # slightly between processors.
        base = BaseModel.beside(file)
        before = base.base_fingerprint + str(base.lora_alpha)
    return hash_arrays(arrays, without_heads(arrays, heads_of(arrays)), before)
