"""A signature of a SavedModel, called on arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.server.batching import (
    Answered,
    BatchedFunction,
    Batcher,
    Columns,
)
from keras_bert.server.refusal import Refusal

# Lines of an error that say where the operation was made, not what is wrong.
_PLACE = re.compile(
    r"Graph execution error|Detected at node|<stack traces|\s+File |\s*$"
)


class Signature:
    """A signature; rows of requests go through it together if they can.

    They can if it takes strings, and if the answer to a row is the same in
    any batch: apart from padding, which `join` cuts.

    Attributes:
        inputs: Maps names to a tf.TensorSpec.
        outputs: The names of the outputs.
        method_name: The method_name of its SignatureDef.
    """

    def __init__(
        self, function: Any, method_name: str, key: str, batcher: Batcher
    ):
        self.method_name = method_name
        self.inputs = dict(
            sorted(function.structured_input_signature[1].items())
        )
        specs = dict(sorted(function.structured_outputs.items()))
        self.outputs = tuple(specs)
        self._function = function
        self._batcher = batcher
        self._padded: list[str] = []
        self._batched: BatchedFunction | None = None
        if _can_be_batched(self.inputs, specs):
            if all(spec.shape.rank == 1 for spec in self.inputs.values()):
                self._padded = _of_any_width(specs)
            self._batched = BatchedFunction(
                function, self.inputs, specs, key, batcher
            )

    def warm_up(self) -> None:
        """Does what would make the first requests slow."""
        if self._batched is not None:
            self._batched.warm_up()

    def parts(self, columns: Columns) -> list[Callable[[], Answered]]:
        """Returns functions that together answer all rows of a request.

        They may run at the same time, and should: each waits for a batch.
        Raises Refusal if the inputs have different numbers of rows.
        """
        sizes = {name: x.shape[:1] for name, x in columns.items()}
        if self._batched is None:
            return [functools.partial(self._answer_alone, columns)]
        if len(set(sizes.values())) > 1:
            rows = ", ".join(
                f"{name} {size}" for name, (size,) in sizes.items()
            )
            raise Refusal(
                400, f"The inputs differ in their number of rows: {rows}."
            )
        if (0,) in sizes.values():
            return [functools.partial(self._answer_alone, columns)]
        return [
            functools.partial(self._answer_together, columns, rows, queue)
            for rows, queue in self._batched.split(columns)
        ]

    def join(self, answered: list[Answered]) -> dict[str, np.ndarray]:
        """Returns the outputs of all rows, in the order of the request."""
        outputs = answered[0].outputs
        if len(answered) > 1:
            order = np.argsort(np.concatenate([part.rows for part in answered]))
            outputs = {
                name: _stacked([part.outputs[name] for part in answered])[order]
                for name in self.outputs
            }
        return {**outputs, **_cut({n: outputs[n] for n in self._padded})}

    def answer(self, columns: Columns) -> dict[str, np.ndarray]:
        """Answers all rows of a request, part by part."""
        return self.join([part() for part in self.parts(columns)])

    def _answer_together(self, columns, rows, queue):
        columns = {name: x[rows] for name, x in columns.items()}
        return Answered(rows, *self._batched.call(columns, queue))

    def _answer_alone(self, columns):
        outputs, times = self._batcher.call_alone(self._function, columns)
        outputs = {name: outputs[name] for name in self.outputs}
        return Answered(np.arange(len(times)), outputs, times)


def refusal_of(error: BaseException) -> Refusal | None:
    """Returns what TensorFlow Serving answers, or None if that is a 5xx."""
    if isinstance(error, UnicodeDecodeError):
        # Python could not read TensorFlow's message, which quotes an input.
        return Refusal(
            400,
            "The model cannot read this input; it has bytes that are not UTF-8 "
            "where the model reads text or a tf.Example.",
        )
    if not isinstance(error, tf.errors.OpError):
        return None
    status = {
        tf.errors.INVALID_ARGUMENT: 400,
        tf.errors.FAILED_PRECONDITION: 400,
        tf.errors.OUT_OF_RANGE: 400,
        tf.errors.PERMISSION_DENIED: 403,
        tf.errors.NOT_FOUND: 404,
        tf.errors.ALREADY_EXISTS: 409,
        tf.errors.ABORTED: 409,
        tf.errors.RESOURCE_EXHAUSTED: 429,
    }.get(error.error_code)
    if status is None:
        return None
    lines = error.message.split("\n\t [[")[0].splitlines()
    reason = " ".join(x.strip() for x in lines if not _PLACE.match(x))
    return Refusal(
        status,
        f"The model cannot read this input: {reason.strip()[:300]}",
        {"Retry-After": "1"} if status == 429 else None,
    )


def _can_be_batched(inputs, outputs):
    return (
        bool(inputs)
        and all(
            spec.dtype == tf.string
            and spec.shape.rank in (1, 2)
            and spec.shape[0] is None
            for spec in inputs.values()
        )
        and all(
            spec.shape.rank is not None
            and spec.shape.rank > 0
            and spec.shape[0] is None
            and None not in spec.shape[2:]
            for spec in outputs.values()
        )
        and (
            any(spec.shape.rank == 2 for spec in inputs.values())
            or not _of_any_width(outputs)
            or any(
                outputs[name].dtype == tf.string
                for name in _of_any_width(outputs)
            )
        )
    )


def _of_any_width(outputs):
    """Returns outputs that are as wide as the widest row of a batch."""
    return [
        name
        for name, spec in outputs.items()
        if spec.shape.rank > 1 and spec.shape[1] is None
    ]


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
        axes = tuple(i for i in range(array.ndim) if i != 1)
        columns = np.flatnonzero(_is_filled(array).any(axis=axes))
        width = array.shape[1]
        used[width] = max(used.get(width, 0), *(columns + 1), 0)
    return {name: x[:, : used[x.shape[1]]] for name, x in outputs.items()}


def _is_filled(array):
    if array.dtype == object:
        return np.vectorize(len, otypes=[int])(array) > 0
    return array != 0
