"""What a user gives as texts -> a tensor of strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.errors import InputError

_FOR_PAIRS = (
    "for pairs, give the first and the second texts: "
    "preprocessor(firsts, seconds)"
)
_FOR_LABELS = (
    "in a dataset with labels, write "
    "dataset.map(lambda texts, labels: (preprocessor(texts), labels))"
)


def to_columns(first: Any, second: Any) -> list[tf.Tensor]:
    """Returns the texts, or the first and the second texts of pairs.

    All are string tensors [B]. `first` may also be a tuple of both columns.
    """
    if isinstance(first, tuple):
        has_columns = not any(isinstance(x, (str, bytes)) for x in first)
        if second is not None and has_columns:
            raise InputError(
                "Two columns of texts and a third thing were given; "
                f"{_FOR_LABELS}."
            )
        if second is None:
            # Two strings in a tuple may be a pair or two texts.
            if not has_columns or len(first) != 2:
                raise InputError(
                    f"A tuple of {len(first)} was given, but a list of texts "
                    f"or a tuple of two lists was expected; {_FOR_PAIRS}."
                )
            first, second = first
    given = (first,) if second is None else (first, second)
    columns = [to_strings(texts) for texts in given]
    sizes = [texts.shape[0] for texts in columns]
    if None not in sizes and len(set(sizes)) > 1:
        raise InputError(
            f"{sizes[0]} first texts and {sizes[1]} second texts were given, "
            "but a pair has one of each; give equally many."
        )
    return columns


def to_strings(texts: Any) -> tf.Tensor:
    """Returns a string tensor [B] of a list, a tuple, an array or a tensor.

    Raises InputError for anything else, such as one string, pairs or numbers.
    """
    try:
        strings = tf.convert_to_tensor(texts, tf.string)
    except (TypeError, ValueError) as error:
        raise _refusal(*_fault(texts)) from error
    rank = strings.shape.rank
    if rank == 0:
        raise _refusal(
            "One string was given",
            "put it into a list, or in a dataset, call batch before map",
        )
    if rank is not None and rank > 1:
        raise _refusal(f"Texts of shape {strings.shape} were given", _FOR_PAIRS)
    return tf.ensure_shape(strings, [None])


def _fault(texts):
    """Says what is wrong with texts that are not strings, and what to do."""
    is_array = hasattr(texts, "tolist")
    if isinstance(texts, Sequence) or (is_array and texts.dtype == object):
        for number, text in enumerate(texts):
            if not isinstance(text, (str, bytes)):
                return f"Text {number} is {text!r}", _FOR_PAIRS
        return "A text is not valid Unicode", "remove its surrogates"
    if hasattr(texts, "dtype") and texts.dtype != tf.string:
        name = tf.as_dtype(texts.dtype).name
        return f"Numbers of type {name} were given", _FOR_LABELS
    return f"A {type(texts).__name__} was given", "write list(texts)"


def _refusal(what, advice):
    return InputError(f"{what}, but a list of strings was expected; {advice}.")
