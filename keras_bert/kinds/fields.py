"""Checks the fields of rows, and encodes rows with one text or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.examples import Examples
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor

_ROWS_PER_CALL = 10_000


def encode_texts(
    rows: Sequence[Row],
    text_fields: tuple[str, ...],
    preprocessor: BertPreprocessor,
    labels: np.ndarray | None = None,
) -> Examples:
    """Tokenizes and packs the text fields; `labels` belong to `logits`."""
    check_texts(rows, text_fields)
    # One graph for any number of rows.
    specs = [tf.TensorSpec([None], tf.string)] * len(text_fields)
    pack = preprocessor.pack.get_concrete_function(*specs)
    chunks = []
    for i in range(0, len(rows), _ROWS_PER_CALL):
        chunk = rows[i : i + _ROWS_PER_CALL]
        texts = ([row[field] for row in chunk] for field in text_fields)
        chunks.append(pack(*map(tf.constant, texts)))
    features = [chunk.features for chunk in chunks]
    return Examples(
        {n: tf.concat([f[n] for f in features], 0) for n in features[0]},
        np.arange(len(rows)),
        {} if labels is None else {"logits": tf.constant(labels)},
        truncated=np.concatenate([chunk.truncated for chunk in chunks]),
    )


def check_fields(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Raises InputError if a row lacks one of the fields."""
    for number, row in enumerate(rows, 1):
        if missing := [field for field in fields if field not in row]:
            raise InputError(
                f"Example {number} has no field {missing[0]!r}, only "
                f"{', '.join(row)}; check text_fields and the reader."
            )


def check_texts(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Raises InputError if one of the fields is missing or not a text."""
    check_fields(rows, fields)
    for number, row in enumerate(rows, 1):
        for field in fields:
            check_text(row[field], f"The {field} of example {number}")


def check_text(value: Any, name: str) -> None:
    """Raises InputError, which names the value, if it is not a text."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; give a string.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has half of a character, {value[error.start]!r}; check "
            "how the text was made."
        ) from error


def find_label(label: Any, ids: Mapping[str, int], number: int) -> int:
    """Returns the id of a label.

    Raises InputError, which names the example, if the label is unknown.
    """
    if not isinstance(label, str) or label not in ids:
        raise InputError(
            f"Label {label!r} of example {number} is not one of "
            f"{', '.join(ids)}; check the labels and the reader of the task."
        )
    return ids[label]
