"""String operations from tensorflow-text or in plain TensorFlow.

Plain TensorFlow is needed because tensorflow-text has wheels for few platforms.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

try:
    import tensorflow_text as tf_text
except ModuleNotFoundError:
    tf_text = None

CUT = b"\xff"  # UTF-8 has no such byte


def split(
    texts: tf.Tensor, delimiters: str, kept: str, library: ModuleType | None
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Splits texts [B] at delimiters, which are parts too if they match `kept`.

    Returns ragged [B, (parts)]: the parts, and the byte offset at which each
    part starts. `library` is tensorflow-text, whose operation stops at a NUL
    byte, or None to do without it.
    """
    if library:
        return library.regex_split_with_offsets(texts, delimiters, kept)[:2]
    is_split = tf.strings.regex_full_match(texts, rf"\C*({delimiters})\C*")
    cuts = f"({delimiters})", CUT + rb"\1" + CUT
    marked = change_where(is_split, texts, tf.strings.regex_replace, *cuts)
    parts = parts_of(marked)
    starts = parts.with_values(byte_starts(parts))
    is_part = ~tf.strings.regex_full_match(parts.values, delimiters)
    is_part |= tf.strings.regex_full_match(parts.values, kept)
    is_part = parts.with_values(is_part)
    return (
        tf.ragged.boolean_mask(parts, is_part),
        tf.ragged.boolean_mask(starts, is_part),
    )


def parts_of(texts: tf.Tensor, cut: str | bytes = CUT) -> tf.RaggedTensor:
    """Splits texts [B] at a byte; returns the parts that are not empty."""
    indices, parts, _ = tf.raw_ops.StringSplit(
        input=texts, delimiter=cut, skip_empty=True
    )
    return tf.RaggedTensor.from_value_rowids(
        parts, indices[:, 0], tf.size(texts, tf.int64), validate=False
    )


def byte_starts(parts: tf.RaggedTensor) -> tf.Tensor:
    """Returns the byte offset of each part in its text, int32.

    `parts` must hold all parts of each text, without gaps.
    """
    starts = tf.cumsum(tf.strings.length(parts.values), exclusive=True)
    firsts = tf.gather(parts.row_starts(), parts.value_rowids())
    return starts - tf.gather(starts, firsts)


def drop_invalid(texts: tf.Tensor) -> tf.Tensor:
    """Returns the texts without bytes that are not valid UTF-8; slow."""
    return tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", errors="ignore"
    )


def num_bytes(codes: tf.Tensor) -> tf.Tensor:
    """Returns how many bytes each code point [C] has in UTF-8, int32 [C]."""
    return sum(
        tf.cast(codes >= first, tf.int32) for first in (0, 0x80, 0x800, 0x10000)
    )


def begins_row(rows: tf.Tensor) -> tf.Tensor:
    """Returns whether each value is the first in its row, bool [N]."""
    return tf.concat([[-1], rows[:-1]], axis=0) != rows


def find_sorted(
    keys: np.ndarray, values: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns each value's index in sorted keys, and whether it is a key."""
    places = tf.minimum(tf.searchsorted(keys, values), len(keys) - 1)
    return places, tf.gather(keys, places) == values


def change_where(
    mask: tf.Tensor,
    texts: tf.Tensor,
    change: Callable[..., tf.Tensor],
    *arguments: Any,
) -> tf.Tensor:
    """Returns texts [B], with `change` applied where the mask [B] is True.

    `change` is called once, with these texts and the further `arguments`.
    """
    rows = tf.where(mask)
    changed = change(tf.gather_nd(texts, rows), *arguments)
    return tf.tensor_scatter_nd_update(texts, rows, changed)
