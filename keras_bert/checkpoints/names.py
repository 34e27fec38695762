"""Paths of our weights <-> names of weights in another format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError

# "layer_3/" in TensorFlow's names, "layer.3." in PyTorch's.
_LAYER = re.compile(r"(?<![a-z])layer([_.])(\d+)(?=[/.])")


class NameTable:
    """A table from paths of our weights to names in another format.

    Attributes:
        names: The table, with `{i}` for the number of the layer, such as
            `{"layer_{i}/output/bias": ...}`.
        transposed: The paths in the table whose arrays are stored transposed.
    """

    def __init__(self, names: Mapping[str, str], transposed: Collection[str]):
        self.names = dict(names)
        self.transposed = frozenset(transposed)
        self._paths = {name: path for path, name in names.items()}

    def to_paths(
        self, stored: Mapping[str, StoredArray], source: str
    ) -> dict[str, StoredArray]:
        """Renames arrays of a file; raises InputError for an unknown name."""
        arrays = {}
        for name in sorted(stored):
            general, number = _split_number(name)
            if general not in self._paths:
                raise InputError(
                    f"{source} has a weight {name}, which does not belong to "
                    "BERT; is it a checkpoint of another model?"
                )
            path = self._paths[general]
            array = stored[name]
            arrays[path.replace("{i}", number)] = (
                array.transposed if path in self.transposed else array
            )
        return arrays

    def to_names(
        self, arrays: Mapping[str, StoredArray]
    ) -> dict[str, StoredArray]:
        """Renames our arrays; raises InputError for one without a name."""
        stored = {}
        for path, array in arrays.items():
            general, number = _split_number(path)
            if general not in self.names:
                raise InputError(
                    f"The weight {path} has no name in that format; choose "
                    "another format."
                )
            name = self.names[general].replace("{i}", number)
            stored[name] = (
                array.transposed if general in self.transposed else array
            )
        return stored


def modules(
    names: Mapping[str, str], weights: Mapping[str, str]
) -> dict[str, str]:
    """Makes the table of modules that all have the same weights.

    `modules({"a": "b"}, {"/kernel": ".weight"})` is `{"a/kernel": "b.weight"}`.
    """
    return {
        f"{path}{path_end}": f"{name}{name_end}"
        for path, name in names.items()
        for path_end, name_end in weights.items()
    }


def _split_number(name):
    layer = _LAYER.search(name)
    if layer is None:
        return name, ""
    return _LAYER.sub(r"layer\1{i}", name, count=1), layer[2]
