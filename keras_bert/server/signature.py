"""A version of a model, loaded and warmed up; its signatures take arrays."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_bert.errors import InputError
from keras_bert.predict.function import Function
from keras_bert.predict.load_functions import load_functions
from keras_bert.predict.versions import read_description
from keras_bert.server.batching import (
    BYTES_PER_PART,
    Answered,
    Columns,
    Rows,
    num_rows,
    read_sizes,
)
from keras_bert.server.refusal import Refusal
from keras_bert.server.tokenization import pieces_function, special_pieces
from keras_bert.text.without_tensorflow import ListTokenizer

# It fills most of a sequence. The first answer of a model takes seconds.
_WARM_UP_TEXT = b"warm up " * 60


class Servable:
    """A version in memory.

    Attributes:
        signatures: Maps names to a `Signature`.
        description: What `assets/model.json` says; empty if there is none.
        pieces: A `Signature` that finds the word pieces of texts; None if there
            is no vocabulary.
        special_pieces: The pieces before and after a text.
    """

    def __init__(self, folder: Path):
        """Loads a version, and asks each signature that takes strings.

        Raises what the engine raises if anything fails.
        """
        tokenizer = self.pieces = None
        # Folders of before have no names for other special tokens.
        with contextlib.suppress(FileNotFoundError, InputError):
            tokenizer = ListTokenizer.from_folder(folder / "assets")
            self.special_pieces = special_pieces(tokenizer)
            self.pieces = Signature(pieces_function(tokenizer))
        functions = load_functions(folder, tokenizer=tokenizer)
        self.signatures = {x: Signature(y) for x, y in functions.items()}
        self.description = read_description(folder)
        for signature in self.signatures.values():
            signature.warm_up()


class Signature:
    """A signature; rows of requests go through it together if they can.

    They can if it takes strings, and if the answer to a row is the same in
    any batch: apart from padding, which `join` cuts.

    Attributes:
        inputs: Maps names to a `Spec`.
        outputs: The same for the outputs.
        definition: Its SignatureDef, as JSON.
        method_name: The method_name of its SignatureDef.
        is_batched: Whether rows of several requests go together.
    """

    def __init__(self, function: Function):
        self.definition = function.definition
        self.method_name = function.definition["method_name"]
        self.inputs, self.outputs = function.inputs, function.outputs
        wide = [
            name
            for name, spec in self.outputs.items()
            if spec.shape and len(spec.shape) > 1 and spec.shape[1] is None
        ]
        are_lists = any(spec.rank == 2 for spec in self.inputs.values())
        self.is_batched = _have_rows(self.inputs, self.outputs) and (
            are_lists
            or not wide
            or any(self.outputs[name].dtype == object for name in wide)
        )
        # These outputs are as wide as the widest row of a batch.
        self._padded = wide if self.is_batched and not are_lists else []
        self._function = function

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Answers rows in one call."""
        return self._function.call(columns)

    def warm_up(self) -> None:
        """Answers a text, if the signature takes strings."""
        texts = {
            name: np.full([x or 1 for x in spec.shape], _WARM_UP_TEXT, object)
            for name, spec in self.inputs.items()
            if spec.dtype == object and spec.shape is not None
        }
        if texts.keys() == self.inputs.keys():
            # Not every signature reads any string.
            with contextlib.suppress(InputError):
                self(texts)

    def split(self, columns: Columns, max_rows: int) -> Iterator[Rows]:
        """Yields the rows of a request in parts, from the shortest row on.

        Raises Refusal if the inputs have different numbers of rows.
        """
        sizes = {name: x.shape[:1] for name, x in columns.items()}
        if self.is_batched and len(set(sizes.values())) > 1:
            rows = ", ".join(
                f"{name} {size}" for name, (size,) in sizes.items()
            )
            raise Refusal(f"The inputs differ in their number of rows: {rows}.")
        if not self.is_batched or (0,) in sizes.values():
            yield Rows(self, np.arange(num_rows(columns)), columns)
            return
        shape = tuple(columns[name].shape[1:] for name in self.inputs)
        num_bytes = read_sizes(columns)
        order = np.argsort(num_bytes, kind="stable")
        start = 0
        while start < len(order):
            rising = num_bytes[order[start : start + max_rows]]
            padded = rising * np.arange(1, len(rising) + 1)
            num_fit = int(np.sum(padded <= BYTES_PER_PART))
            end = start + max(num_fit, 1)
            # A single part has all rows in their order.
            places = np.sort(order[start:end])
            mine = {name: x[places] for name, x in columns.items()}
            size = int(num_bytes[places].sum())
            yield Rows(self, places, mine, size, (self, shape))
            start = end

    def join(self, answered: list[Answered]) -> dict[str, np.ndarray]:
        """Returns the outputs of all rows, in the order of the request."""
        outputs = dict(answered[0].outputs)
        if len(answered) > 1:
            places = np.concatenate([part.places for part in answered])
            order = np.argsort(places)
            for name in outputs:
                whole = _stacked([part.outputs[name] for part in answered])
                if len(whole) != len(order):
                    raise Refusal(
                        f"The output {name!r} has no rows, so a request must "
                        "fit into one batch; send one text at a time."
                    )
                outputs[name] = whole[order]
        return outputs | _cut({name: outputs[name] for name in self._padded})


def _have_rows(inputs, outputs):
    """Returns whether all inputs are rows of strings, and all outputs rows."""
    return (
        bool(inputs)
        and all(x.dtype == object and x.rank in (1, 2) for x in inputs.values())
        and all(
            x.shape and x.shape[0] is None and None not in x.shape[2:]
            for x in [*inputs.values(), *outputs.values()]
        )
    )


def _stacked(arrays):
    """Joins rows of different widths: "" and 0 are the padding."""
    shape = np.max([x.shape[1:] for x in arrays], axis=0, initial=0)
    padded = []
    for array in arrays:
        missing = [(0, size) for size in shape - array.shape[1:]]
        fill = b"" if array.dtype == object else 0
        padded.append(np.pad(array, [(0, 0), *missing], constant_values=fill))
    return np.concatenate(padded)


def _cut(outputs):
    """Drops the last columns that are padding in all outputs of their width.

    Other rows of the batch, of another request, may have been wider.
    """
    used: dict[int, int] = {}
    for array in outputs.values():
        is_filled = array.astype(bool)  # not "", not 0
        axes = tuple(i for i in range(array.ndim) if i != 1)
        columns = np.flatnonzero(is_filled.any(axis=axes))
        width = array.shape[1]
        used[width] = max(used.get(width, 0), *(columns + 1), 0)
    return {name: x[:, : used[x.shape[1]]] for name, x in outputs.items()}
