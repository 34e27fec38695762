"""The folder of a version -> its functions, which take and return arrays.

TensorFlow, LiteRT, ONNX Runtime or OpenVINO computes them. Strings are bytes,
in arrays of objects.
"""

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from keras_bert.errors import InputError
from keras_bert.predict.versions import format_of

if TYPE_CHECKING:
    from keras_bert.text.without_tensorflow import ListTokenizer

Columns = Mapping[str, np.ndarray]


class Spec(NamedTuple):
    """What an array must be.

    Attributes:
        dtype: The type of the numbers; object for strings.
        shape: The sizes, None for any; None for any number of sizes.
    """

    dtype: np.dtype
    shape: tuple[int | None, ...] | None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Returns whether an array of this shape is taken."""
        if self.shape is None:
            return True
        sizes = zip(self.shape, shape, strict=False)
        return len(shape) == self.rank and all(x in (None, y) for x, y in sizes)


@dataclasses.dataclass(frozen=True)
class Function:
    """A signature of a loaded version.

    Attributes:
        call: Takes and returns arrays by name. Raises InputError if it cannot
            read them.
        inputs: The specifications of the inputs, by name, in sorted order.
        outputs: The same for the outputs.
        definition: The SignatureDef of TensorFlow Serving, as JSON.
    """

    call: Callable[[Columns], dict[str, np.ndarray]]
    inputs: dict[str, Spec]
    outputs: dict[str, Spec]
    definition: dict[str, Any]

    @classmethod
    def of_network(
        cls,
        call: Callable[[Columns], dict[str, np.ndarray]],
        inputs: Mapping[str, Spec],
        outputs: Mapping[str, Spec],
    ) -> Self:
        """Returns a function of texts that is not of a SavedModel."""

        def call_if_any(columns):
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


def load_functions(
    folder: Path,
    signature: str | None = None,
    tokenizer: "ListTokenizer | None" = None,
) -> dict[str, Function]:
    """Loads a version, and returns its functions by the names of signatures.

    Of a network in another format than a SavedModel, these are the signatures
    that take texts, or only the named one. If the kind of its task is one of
    your own, import its file first. Where TensorFlow is not installed, the
    package `tokenizers` finds the ids, by the `tokenizer` of the folder if it
    is given.

    Raises InputError if a package is missing, or the folder is damaged.
    """
    has_tensorflow = importlib.util.find_spec("tensorflow")
    if format_of(folder) == "saved_model":
        if not has_tensorflow:
            raise InputError(
                f"{folder} is a SavedModel; pip install tensorflow "
                "tensorflow-text, or export the model with --format=auto."
            )
        from keras_bert.predict.saved_model import load_saved_model

        return load_saved_model(folder)
    if has_tensorflow:
        from keras_bert.predict import network_in_tensorflow

        return network_in_tensorflow.load(folder, signature)
    from keras_bert.predict import network_without_tensorflow

    return network_without_tensorflow.load(folder, signature, tokenizer)


def _tensor_info(name, spec):
    kind = "string" if spec.dtype == object else spec.dtype.name
    sizes = [-1 if size is None else size for size in spec.shape]
    dims = [{"size": str(size), "name": ""} for size in sizes]
    return {
        "dtype": f"DT_{kind.replace('float32', 'float').upper()}",
        "tensor_shape": {"dim": dims, "unknown_rank": False},
        "name": name,
    }
