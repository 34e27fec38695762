"""Rows with one text or two -> examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import Examples
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor

_ROWS_PER_CALL = 10_000


def encode_texts(
    rows: Sequence[Row],
    text_fields: tuple[str, ...],
    preprocessor: BertPreprocessor,
    labels: np.ndarray | None = None,
) -> Examples:
    """Tokenizes and packs the text fields; `labels` [N] are for `logits`."""
    check_texts(rows, text_fields)
    # One graph for any number of rows.
    specs = [tf.TensorSpec([None], tf.string)] * len(text_fields)
    pack = preprocessor.pack.get_concrete_function(*specs)
    chunks = []
    for i in range(0, len(rows), _ROWS_PER_CALL):
        chunk = rows[i : i + _ROWS_PER_CALL]
        texts = ([row[field] for row in chunk] for field in text_fields)
        chunks.append(pack(*map(tf.constant, texts)))
    return Examples(
        {n: tf.concat([c[n] for c in chunks], 0) for n in chunks[0]},
        np.arange(len(rows)),
        {} if labels is None else {"logits": tf.constant(labels)},
    )


def check_fields(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Raises InputError where a row lacks one of the fields."""
    for number, row in enumerate(rows, 1):
        if missing := [field for field in fields if field not in row]:
            raise InputError(
                f"Example {number} has no field {missing[0]!r}, only "
                f"{', '.join(row)}; check text_fields and the reader."
            )


def check_texts(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Raises InputError where one of the fields is absent or no text."""
    check_fields(rows, fields)
    for number, row in enumerate(rows, 1):
        for field in fields:
            check_text(row[field], f"The {field} of example {number}")


def check_text(value: Any, name: str) -> None:
    """Raises InputError, with its name, where a value is no text."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; give a string.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has half of a character, {value[error.start]!r}; check "
            "how the text was made."
        ) from error


def text_signature(answer, text_fields: tuple[str, ...]) -> dict[str, tuple]:
    """`answer`, called on strings named `text`, or `text_a` and `text_b`."""
    names = ["text"] if len(text_fields) == 1 else ["text_a", "text_b"]
    specs = [tf.TensorSpec([None], tf.string, name) for name in names]
    return {"serving_default": (answer, specs)}
