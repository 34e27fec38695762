"""Checks the fields of rows, and encodes columns of texts."""

import itertools
import keyword
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError, is_list
from keras_bert.kinds.examples import Examples
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor

_ROWS_PER_CHUNK = 10_000


class NumberedRows(list):
    """A chunk of a data set's rows, with the number of its first row."""

    first_number = 1


def in_chunks(rows: Iterable[Row]) -> Iterator[NumberedRows]:
    """Yields rows in chunks of 10,000; reads one chunk at a time."""
    rows, first_number = iter(rows), 1
    while chunk := NumberedRows(itertools.islice(rows, _ROWS_PER_CHUNK)):
        chunk.first_number = first_number
        yield chunk
        first_number += len(chunk)


def numbered(rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
    """Yields each row's number in the data set (from 1), and the row.

    Raises InputError if a row is not a dict.
    """
    for number, row in enumerate(rows, getattr(rows, "first_number", 1)):
        if not isinstance(row, Mapping):
            raise InputError(
                f"Example {number} is {reprlib.repr(row)}; give a dict with a "
                "value for each of the text_fields, and with the label if the "
                "example has one."
            )
        yield number, row


def encode_columns(
    columns: Sequence[Sequence[str]],
    preprocessor: BertPreprocessor,
    labels: dict[str, Any] | None = None,
) -> Examples:
    """Returns the examples of one column of texts, or of two columns."""
    # One graph for any number of rows.
    specs = [tf.TensorSpec([None], tf.string)] * len(columns)
    pack = preprocessor.pack_columns.get_concrete_function(*specs)
    num_rows = len(columns[0])
    chunks = []
    for start in range(0, num_rows, _ROWS_PER_CHUNK):
        rows = slice(start, start + _ROWS_PER_CHUNK)
        chunks.append(pack(*(tf.constant(texts[rows]) for texts in columns)))
    features = [chunk.features for chunk in chunks]
    return Examples(
        {n: tf.concat([f[n] for f in features], 0) for n in features[0]},
        np.arange(num_rows),
        labels or {},
        truncated=np.concatenate([chunk.truncated for chunk in chunks]),
    )


def check_text_fields(names: Iterable[str]) -> None:
    """Raises InputError if a name cannot be an input of an exported model.

    TensorFlow would change such a name.
    """
    for name in names:
        is_name = re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)
        if not is_name or keyword.iskeyword(name) or name in ("label", "self"):
            raise InputError(
                f"{name!r} cannot be the name of a text field, because it "
                "could not be an input of an exported model; rename it with "
                "letters from a to z, digits and _, but not as label, self "
                "or a Python keyword."
            )


def check_fields(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Raises InputError if a row lacks one of the fields."""
    for number, row in numbered(rows):
        if missing := [field for field in fields if field not in row]:
            raise InputError(
                f"Example {number} has no field {missing[0]!r}, only "
                f"{', '.join(row)}; give this field, or correct the "
                "text_fields."
            )


def check_texts(
    rows: Sequence[Row], fields: Sequence[str], lists: Sequence[str] = ()
) -> None:
    """Raises InputError if one of the fields is missing or not a string.

    Each of the `lists` is a field that must contain a list of strings.
    """
    check_fields(rows, [*fields, *lists])
    for number, row in numbered(rows):
        for field in fields:
            check_text(row[field], f"The {field} of example {number}")
        for field in lists:
            check_text_list(row[field], f"{field} of example {number}")


def text_columns(rows: Sequence[Row], fields: Sequence[str]) -> list[list[str]]:
    """Returns the texts in each of the fields, in the order of the rows.

    Raises InputError if one of the fields is missing or not a string.
    """
    check_texts(rows, fields)
    return [[row[field] for row in rows] for field in fields]


def check_text(value: Any, name: str) -> None:
    """Raises InputError if a value is not a string of valid Unicode.

    `name` says in the message what the value is, such as "The query".
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; give a string.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has {value[error.start]!r}, which is not valid Unicode; "
            "perhaps its file is not UTF-8."
        ) from error


def check_text_list(values: Any, name: str) -> tuple[str, ...]:
    """Returns a list of strings as a tuple.

    Raises InputError for anything else. `name` says in the message what the
    strings are, such as "labels".
    """
    if not is_list(values) or not hasattr(values, "__len__"):
        raise InputError(
            f"{values!r:.80} is not a list of {name}; give a list of strings."
        )
    for value in values:
        check_text(value, f"One of the {name}")
    return tuple(values)


def find_label(label: Any, ids: Mapping[str, int], number: int) -> int:
    """Returns the id of a label.

    Raises InputError, which names the example, if the label is unknown.
    """
    if not isinstance(label, str) or label not in ids:
        raise InputError(
            f"Label {label!r} of example {number} is not one of the strings "
            f"{', '.join(map(repr, ids))}; correct this label or the labels of "
            "the task, or give new_head to from_pretrained or finetune."
        )
    return ids[label]


def find_number(label: Any, number: int) -> float:
    """Returns a label as a float.

    Raises InputError, which names the example, if the label is not a finite
    number.
    """
    try:
        value = math.nan if isinstance(label, bool) else float(label)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"Label {label!r} of example {number} is not a number; check the "
            "reader of the task."
        )
    return value
