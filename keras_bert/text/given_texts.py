"""Texts from a user -> string tensors, or an error that says what is wrong."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.without_tensorflow import check_sizes

_FOR_PAIRS = (
    "for pairs, give the first and the second texts: "
    "preprocessor(firsts, seconds)"
)
_FOR_LABELS = (
    "in a dataset with labels, write "
    "dataset.map(lambda texts, labels: (preprocessor(texts), labels))"
)


def to_columns(first: Any, second: Any) -> list[tf.Tensor]:
    """Returns one column of texts, or the two columns of pairs.

    A column is a string tensor [B]. `first` may be a tuple of both columns.
    """
    if isinstance(first, tuple):
        has_strings = any(isinstance(x, (str, bytes)) for x in first)
        if second is None:
            # Two strings in a tuple may be a pair or two texts.
            if has_strings or len(first) != 2:
                raise _input_error(
                    f"A tuple of {len(first)} items was given", _FOR_PAIRS
                )
            first, second = first
        elif not has_strings:
            raise _input_error(
                "Two columns of texts and a third item were given", _FOR_LABELS
            )
    given = (first,) if second is None else (first, second)
    columns = [to_strings(texts) for texts in given]
    for strings in columns:
        if (strings.shape.rank or 1) > 1:
            raise _input_error(
                f"Texts of shape {strings.shape} were given", _FOR_PAIRS
            )
    sizes = [strings.shape[0] for strings in columns]
    if None not in sizes:
        check_sizes(sizes)
    return [tf.ensure_shape(strings, [None]) for strings in columns]


def to_strings(texts: Any) -> tf.Tensor:
    """Converts a list, a tuple, an array or a tensor to a string tensor."""
    try:
        strings = tf.convert_to_tensor(texts, tf.string)
    except (TypeError, ValueError) as error:
        raise _input_error(*_what_is_wrong(texts)) from error
    if strings.shape.rank == 0:
        raise _input_error(
            "One string was given",
            "put it into a list, or in a dataset, call batch before map",
        )
    return strings


def _what_is_wrong(texts: Any) -> tuple[str, str]:
    """Returns what is wrong with texts that cannot be read, and what to do."""
    dtype = getattr(texts, "dtype", object)
    if dtype not in (object, tf.string):
        name = tf.as_dtype(dtype).name
        return f"Numbers of type {name} were given", _FOR_LABELS
    if not isinstance(texts, Sequence) and not hasattr(texts, "tolist"):
        return f"A {type(texts).__name__} was given", "write list(texts)"
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            return f"Text {number} is {text!r}", _FOR_PAIRS
    return "A text is not valid Unicode", "remove its surrogates"


def _input_error(what: str, advice: str) -> InputError:
    return InputError(f"{what}, but a list of strings was expected; {advice}.")
