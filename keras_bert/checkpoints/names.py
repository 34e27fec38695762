"""Arrays keyed by their names in a file <-> arrays keyed by our weight paths.

Our path of a weight is the weight's path in a network of keras_bert.models,
such as "layer_0/output/kernel".
"""

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import numpy as np

from keras_bert.errors import InputError
from keras_bert.families import name_of

# "layer_3/" in TensorFlow's names, "layer.3." and "layers.3." in PyTorch's.
_LAYER = re.compile(r"(?<![a-z])(layers?[_.])(\d+)(?=[/.])")


@dataclasses.dataclass(frozen=True)
class StoredArray:
    """An array in a file, read on demand.

    Weights are read one at a time, so memory never holds a whole checkpoint.

    Attributes:
        shape: The shape, known without reading the array.
        read: The function that reads and returns the array.
    """

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]

    @property
    def transposed(self) -> Self:
        return type(self)(self.shape[::-1], lambda: self.read().T)

    def equals(self, other: Self) -> bool:
        return self is other or np.array_equal(self.read(), other.read())

    def finite(self, name: str, file: Path) -> Self:
        """Returns an array whose `read` raises InputError for inf and NaN.

        `name` and `file` are for the message.
        """

        def read() -> np.ndarray:
            array = self.read()
            with np.errstate(all="ignore"):
                # The sum is nearly always finite, and then all numbers are.
                is_sure = np.isfinite(array.sum(dtype=np.float32))
            if not is_sure and not np.isfinite(array).all():
                raise InputError(
                    f"{name} in {file} holds numbers that are not finite; "
                    "give a checkpoint from before its training failed."
                )
            return array

        return type(self)(self.shape, read)

    def reshaped(self, *shape: int) -> Self:
        return type(self)(shape, lambda: self.read().reshape(shape))


Arrays = dict[str, StoredArray]


# The name of a weight in another format, and whether it is stored transposed.
Name = tuple[str, bool]


def weight_names(
    modules: Mapping[str, str], *, transposed: bool = False, **ends: str
) -> dict[str, Name]:
    """Returns a mapping from our weight paths to names in another format.

    Args:
        modules: A mapping from our paths to names in the other format, both
            with `{i}` for the index of the layer. A path that ends with
            "_embeddings" or "_bias" is a weight, a path that ends with
            "layer_norm" is a layer norm, and any other path is a dense layer.
        transposed: Whether the kernels are stored as [units, inputs].
        ends: What follows a module's name in the name of its `kernel`, `bias`,
            `gamma`, `beta` or `embeddings`. By default, the ending is the same
            as in our paths, such as "/kernel"; `embeddings` has no ending.
    """
    names = {}
    for path, name in modules.items():
        if path.endswith("_embeddings"):
            names[path] = name + ends.get("embeddings", ""), False
        elif path.endswith("_bias"):
            names[path] = name, False
        else:
            is_norm = path.endswith("layer_norm")
            for weight in ("gamma", "beta") if is_norm else ("kernel", "bias"):
                end = ends.get(weight, f"/{weight}")
                is_transposed = transposed and weight == "kernel"
                names[f"{path}/{weight}"] = name + end, is_transposed
    return names


def to_paths(
    stored: Arrays, names: Mapping[str, Name], source: str, family: str = "bert"
) -> Arrays:
    """Returns a file's arrays, keyed by our weight paths.

    `names` maps our paths to names in the file. Raises InputError if the name
    of an array is not in `names`; `source` is the file, for the message.
    """
    return _renamed(
        dict(sorted(stored.items())),
        {name: (path, flag) for path, (name, flag) in names.items()},
        f"{source} has a weight {{name}}, which does not belong to "
        f"{name_of(family)}; is it a checkpoint of another model?",
    )


def to_names(arrays: Arrays, names: Mapping[str, Name]) -> Arrays:
    """Returns our arrays, keyed by their names in another format.

    `names` maps our paths to names in the other format. Raises InputError if
    the path of an array is not in `names`.
    """
    return _renamed(
        arrays,
        names,
        "The weight {name} has no name in that format; choose another format.",
    )


def _renamed(arrays: Arrays, names: Mapping[str, Name], unknown: str) -> Arrays:
    renamed = {}
    for name, array in arrays.items():
        general, number = without_number(name)
        if general not in names:
            raise InputError(unknown.replace("{name}", name))
        new, is_transposed = names[general]
        renamed[new.replace("{i}", number)] = (
            array.transposed if is_transposed else array
        )
    return renamed


def without_number(name: str) -> tuple[str, str]:
    """Returns a name with {i} for its layer's index, and that index."""
    layer = _LAYER.search(name)
    return _LAYER.sub(r"\1{i}", name, count=1), layer[2] if layer else ""
