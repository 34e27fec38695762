"""A model's function from arrays to arrays, and the types of these arrays.

An array of strings has the dtype object, and its elements are bytes.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from keras_bert.errors import InputError

Columns = Mapping[str, np.ndarray]


class Spec(NamedTuple):
    """The type and the shape that an array must have.

    Attributes:
        dtype: The type of the numbers; object for strings.
        shape: The size of each axis, with None for any size. If the shape
            itself is None, the array may have any number of axes.
    """

    dtype: np.dtype
    shape: tuple[int | None, ...] | None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Returns whether an array may have this shape."""
        if self.shape is None:
            return True
        sizes = zip(self.shape, shape, strict=False)
        return len(shape) == self.rank and all(x in (None, y) for x, y in sizes)


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    """A signature of a loaded model version.

    Attributes:
        call: A function from input arrays to output arrays, both keyed by name.
            It raises InputError if it cannot read the inputs.
        inputs: The specifications of the inputs, keyed and sorted by name.
        outputs: The specifications of the outputs, keyed and sorted by name.
        definition: The TensorFlow Serving SignatureDef, as JSON.
    """

    call: Callable[[Columns], dict[str, np.ndarray]]
    inputs: dict[str, Spec]
    outputs: dict[str, Spec]
    definition: dict[str, Any]

    @functools.cached_property
    def is_batched(self) -> bool:
        """Whether a row has the same answer in any batch, apart from padding.

        This is true if the inputs are rows of strings, and the outputs are
        rows.
        """
        inputs = self.inputs.values()
        if not inputs or any(x.dtype != object for x in inputs):
            return False
        have_rows = all(
            x.shape and x.shape[0] is None and None not in x.shape[2:]
            for x in (*inputs, *self.outputs.values())
        )
        wide = [self.outputs[name].dtype for name in self._wide_outputs]
        return (
            have_rows
            and all(x.rank in (1, 2) for x in inputs)
            and (self._has_lists or not wide or object in wide)
        )

    @functools.cached_property
    def padded_outputs(self) -> list[str]:
        """The names of the outputs whose rows are padded to the widest row."""
        is_padded = self.is_batched and not self._has_lists
        return self._wide_outputs if is_padded else []

    @property
    def _has_lists(self) -> bool:
        return any(spec.rank == 2 for spec in self.inputs.values())

    @property
    def _wide_outputs(self) -> list[str]:
        return [
            name
            for name, spec in self.outputs.items()
            if spec.shape and len(spec.shape) > 1 and spec.shape[1] is None
        ]

    @classmethod
    def of_network(
        cls,
        call: Callable[[Columns], dict[str, np.ndarray]],
        inputs: Mapping[str, Spec],
        outputs: Mapping[str, Spec],
    ) -> Self:
        """Returns a `Function` for a network that is not a SavedModel."""

        def call_if_any(columns: Columns) -> dict[str, np.ndarray]:
            if any(0 in x.shape for x in columns.values()):
                raise InputError("There is no text; give at least one.")
            return call(columns)

        sides = dict(sorted(inputs.items())), dict(sorted(outputs.items()))
        definition: dict[str, Any] = {
            side: {name: _tensor_info(name, x) for name, x in specs.items()}
            for side, specs in zip(("inputs", "outputs"), sides, strict=True)
        }
        definition["method_name"] = "tensorflow/serving/predict"
        return cls(call_if_any, *sides, definition | {"defaults": {}})


def _tensor_info(name: str, spec: Spec) -> dict[str, Any]:
    kind = "string" if spec.dtype == object else spec.dtype.name
    sizes = [-1 if size is None else size for size in spec.shape or ()]
    dims = [{"size": str(size), "name": ""} for size in sizes]
    return {
        "dtype": f"DT_{kind.replace('float32', 'float').upper()}",
        "tensor_shape": {"dim": dims, "unknown_rank": False},
        "name": name,
    }
