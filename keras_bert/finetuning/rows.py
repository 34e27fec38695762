"""What people keep rows in -> a list of rows, each a dict."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.errors import InputError
from keras_bert.tasks.base import Row


def as_rows(data: Any, text_fields: Sequence[str]) -> list[Row]:
    """Returns rows, or the rows of columns: a dict of lists, a DataFrame.

    Arrays in a row become lists. Raises InputError for a single text or row.
    """
    if hasattr(data, "keys"):
        columns = {name: data[name] for name in data.keys()}
        lengths = {name: _length(column) for name, column in columns.items()}
        if None not in lengths.values() and len(set(lengths.values())) < 2:
            values = zip(*columns.values(), strict=True)
            data = [dict(zip(columns, row, strict=True)) for row in values]
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(
        data, Iterable
    ):
        form = "{" + ", ".join(f"{x!r}: ..." for x in text_fields) + "}"
        raise InputError(
            f"The rows are {reprlib.repr(data)}; give a list of dicts such as "
            f"{form}, or a dict of lists of equal length."
        )
    return [_plain(row) if isinstance(row, Mapping) else row for row in data]


def _length(column: Any) -> int | None:
    is_column = hasattr(column, "__len__") and not isinstance(
        column, (str, bytes)
    )
    return len(column) if is_column else None


def _plain(row):
    return {
        name: x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x
        for name, x in row.items()
    }
