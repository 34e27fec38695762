"""The rows of a request -> parts; the answers to the parts -> one answer."""

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

import numpy as np

from keras_bert.predict.function import Columns, Function
from keras_bert.server.refusal import Refusal

# The largest size of the strings in a call, in bytes: about 500 tokens of
# English. The limit exists because a long call would delay the next calls. A
# call with a single row may be larger.
BYTES_PER_CALL = 2048
# A part of a request leaves room for other requests in the part's call.
BYTES_PER_PART = BYTES_PER_CALL // 2


class Rows(NamedTuple):
    """Some rows of a request.

    Attributes:
        function: The function that answers the rows.
        places: The indices of the rows in the request.
        columns: The values of the rows, keyed by the names of the inputs.
        num_bytes: The size of the strings in the rows, in bytes.
        queue: The queue of the rows. One call may answer rows from several
            requests if the rows have the same queue. None if a call answers
            only these rows.
    """

    function: Callable[[Columns], Columns]
    places: np.ndarray
    columns: Columns
    num_bytes: int = 0
    queue: Hashable = None


class Answered(NamedTuple):
    """The model's answers to some rows of a request.

    Attributes:
        places: The indices of the rows in the request.
        outputs: The outputs of the model, keyed by name.
        begin: The time at which the call began.
        batch: The seconds that the call took, and the call's number of rows. If
            several requests share a call, only the first request has this pair;
            the others have None.
    """

    places: np.ndarray
    outputs: Columns
    begin: float
    batch: tuple[float, int] | None


def split_rows(
    function: Function, columns: Columns, max_rows: int
) -> Iterator[Rows]:
    """Yields the rows of a request in parts, shortest rows first.

    Raises Refusal if the inputs have different numbers of rows.
    """
    sizes = {name: x.shape[:1] for name, x in columns.items()}
    if function.is_batched and len(set(sizes.values())) > 1:
        rows = ", ".join(f"{name} {size}" for name, (size,) in sizes.items())
        raise Refusal(f"The inputs differ in their number of rows: {rows}.")
    if not function.is_batched or (0,) in sizes.values():
        places = np.arange(num_rows(columns))
        yield Rows(function.call, places, columns)
        return
    shape = tuple(columns[name].shape[1:] for name in function.inputs)
    num_bytes = read_sizes(columns)
    order = np.argsort(num_bytes, kind="stable")
    start = 0
    while start < len(order):
        rising = num_bytes[order[start : start + max_rows]]
        padded = rising * np.arange(1, len(rising) + 1)
        num_fit = int(np.sum(padded <= BYTES_PER_PART))
        end = start + max(num_fit, 1)
        # If there is a single part, its rows are all rows, in order.
        places = np.sort(order[start:end])
        mine = {name: x[places] for name, x in columns.items()}
        size = int(num_bytes[places].sum())
        queue = (function, shape)
        yield Rows(function.call, places, mine, size, queue)
        start = end


def join_rows(function: Function, answered: list[Answered]) -> Columns:
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
    padded = {name: outputs[name] for name in function.padded_outputs}
    return outputs | _cut(padded)


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """Returns the concatenated arrays; pads narrower arrays with "" or 0."""
    shape = np.max([x.shape[1:] for x in arrays], axis=0, initial=0)
    padded = []
    for array in arrays:
        missing = [(0, size) for size in shape - array.shape[1:]]
        fill = b"" if array.dtype == object else 0
        padded.append(np.pad(array, [(0, 0), *missing], constant_values=fill))
    return np.concatenate(padded)


def _cut(outputs: Columns) -> dict[str, np.ndarray]:
    """Returns the outputs without trailing columns of padding.

    An output has columns of padding if rows of another request in the batch
    were wider. A column stays if any output of the same width uses it.
    """
    used: dict[int, int] = {}
    for array in outputs.values():
        is_filled = array.astype(bool)  # not "", not 0
        axes = tuple(i for i in range(array.ndim) if i != 1)
        columns = np.flatnonzero(is_filled.any(axis=axes))
        width = array.shape[1]
        used[width] = max(used.get(width, 0), *(columns + 1), 0)
    return {name: x[:, : used[x.shape[1]]] for name, x in outputs.items()}


def num_rows(columns: Columns) -> int:
    """Returns the number of rows of a request; a scalar input is one row."""
    return max(x.shape[0] if x.ndim else 1 for x in columns.values())


def reads_per_row(columns: Columns) -> int:
    """Returns how often the model reads the text of a row.

    If the row also has a list, such as endings, the model reads the text once
    with each entry of the list. Otherwise, it reads the text once.
    """
    widths = [x.shape[1] for x in columns.values() if x.ndim == 2]
    has_texts = any(x.ndim == 1 for x in columns.values())
    return max(widths, default=1) if has_texts else 1


def read_sizes(columns: Columns, length: Callable = len) -> np.ndarray:
    """Returns the total size of the strings read for each row, int [N].

    `length` measures a string, by default in bytes.
    """
    sizes = np.zeros(num_rows(columns), int)
    reads = reads_per_row(columns)
    for column in columns.values():
        if column.dtype == object:
            column = np.atleast_1d(column)
            lengths = np.array([length(x) for x in column.ravel()], int)
            lengths = lengths.reshape(column.shape)
            times = reads if column.ndim == 1 else 1
            rows = lengths.sum(axis=tuple(range(1, column.ndim)))
            sizes[: len(rows)] += times * rows
    return sizes
