"""Operations on strings: of tensorflow-text, or of plain TensorFlow.

tensorflow-text has wheels for few platforms.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError

try:
    import tensorflow_text as tf_text
except ModuleNotFoundError:
    tf_text = None


def require_tensorflow_text(what: str) -> None:
    """Raises InputError, which says `what` needs it, if it is missing."""
    if tf_text is None:
        raise InputError(
            f"{what} needs tensorflow-text, which is not installed; use a "
            "machine for which it has wheels, such as Linux on x86_64, and "
            "pip install tensorflow-text."
        )


def split(
    texts: tf.Tensor, delimiters: str, kept: str, library: ModuleType | None
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Splits texts [B] at delimiters; those that are `kept` are parts.

    The library is tensorflow-text, or None for plain TensorFlow. Returns ragged
    [B, (parts)]: the parts, and the byte at which each starts. The operation of
    tensorflow-text stops at a NUL.
    """
    if library:
        return library.regex_split_with_offsets(texts, delimiters, kept)[:2]
    # UTF-8 has no such byte.
    mark = b"\xff"
    marked = change_where(
        tf.strings.regex_full_match(texts, rf"\C*({delimiters})\C*"),
        texts,
        lambda texts: tf.strings.regex_replace(
            texts, f"({delimiters})", mark + rb"\1" + mark
        ),
    )
    parts = tf.strings.split(marked, mark)
    flat, rows = parts.flat_values, parts.value_rowids()
    starts = tf.cumsum(tf.strings.length(flat), exclusive=True)
    text_starts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    starts = tf.cast(starts - tf.gather(text_starts, rows), tf.int64)
    is_part = ~tf.strings.regex_full_match(flat, f"({delimiters})?")
    is_part |= tf.strings.regex_full_match(flat, kept)
    is_part = parts.with_flat_values(is_part)
    return (
        tf.ragged.boolean_mask(parts, is_part),
        tf.ragged.boolean_mask(parts.with_flat_values(starts), is_part),
    )


def num_bytes(codes: tf.Tensor) -> tf.Tensor:
    """Returns the bytes of each code point [C] in UTF-8, int32 [C]."""
    return sum(
        tf.cast(codes >= first, tf.int32) for first in (0, 0x80, 0x800, 0x10000)
    )


def find_sorted(
    keys: np.ndarray, values: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the place of each value among sorted keys, and if it is there."""
    places = tf.minimum(tf.searchsorted(keys, values), len(keys) - 1)
    return places, tf.gather(keys, places) == values


def change_where(
    mask: tf.Tensor, texts: tf.Tensor, change: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Applies `change` to the texts [B] whose mask [B] is True."""
    rows = tf.where(mask)
    return tf.tensor_scatter_nd_update(
        texts, rows, change(tf.gather_nd(texts, rows))
    )
