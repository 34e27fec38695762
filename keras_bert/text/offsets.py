"""The spans of tokens in their texts."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import tensorflow as tf

from keras_bert.text.normalizers import Characters
from keras_bert.text.text_ops import num_bytes


class TokensWithOffsets(NamedTuple):
    """The ids of tokens, and the span of the text that each token covers.

    All fields are int32 RaggedTensors [B, (tokens)]. Bytes are counted in the
    UTF-8 string; characters are code points, as in a Python string. An invalid
    byte counts as a byte, but not as a character.
    """

    ids: tf.RaggedTensor
    start_bytes: tf.RaggedTensor
    end_bytes: tf.RaggedTensor
    start_chars: tf.RaggedTensor
    end_chars: tf.RaggedTensor

    @classmethod
    def of_chars(
        cls, texts: tf.Tensor, columns: Sequence[tf.RaggedTensor]
    ) -> Self:
        """Returns the tokens, with byte spans computed from character spans.

        The columns are the ids of the tokens, and the starts and ends of the
        character spans.
        """
        ids, starts, ends = columns[0], columns[1].values, columns[2].values
        chars, byte_starts = tf.strings.unicode_decode_with_offsets(
            texts, "UTF-8", errors="ignore"
        )
        byte_starts = tf.cast(byte_starts.values, tf.int32)
        byte_ends = tf.pad(byte_starts + num_bytes(chars.values), [[1, 0]])
        begins = tf.gather(
            tf.cast(chars.row_starts(), tf.int32), ids.value_rowids()
        )
        end_bytes = tf.gather(byte_ends, begins + ends)
        end_bytes = tf.where(ends > 0, end_bytes, 0)
        start_bytes = tf.gather(tf.pad(byte_starts, [[0, 1]]), begins + starts)
        start_bytes = tf.where(starts < ends, start_bytes, end_bytes)
        return cls(
            ids, *map(ids.with_values, (start_bytes, end_bytes, starts, ends))
        )


def locate(
    columns: Sequence[tf.RaggedTensor],
    chars: Characters,
    clean: Characters,
    sizes: tf.Tensor,
) -> Sequence[tf.RaggedTensor]:
    """Byte spans in clean texts -> character spans in the original texts.

    A span leaves out removed characters at its ends.

    Args:
        columns: The ids of tokens, and the starts and ends of the byte spans,
            each [B, (tokens)].
        chars: The characters of the original texts.
        clean: The characters of the clean texts.
        sizes: The number of bytes of each clean character, int32 [C]; 0 for a
            character that is removed.
    """
    ids, starts, ends = columns
    rows = ids.value_rowids()
    clean_ends = tf.cumsum(sizes)
    begins = tf.gather(clean_ends - sizes, tf.searchsorted(clean.rows, rows))
    starts = tf.cast(starts.values, tf.int32) + begins
    ends = tf.cast(ends.values, tf.int32) + begins
    first = tf.searchsorted(clean_ends, starts, "right")
    last = tf.searchsorted(clean_ends, ends, "left")
    text_begins = tf.searchsorted(chars.rows, rows)
    first = tf.gather(clean.sources, first) - text_begins
    last = tf.gather(clean.sources, last) - text_begins
    return [ids, ids.with_values(first), ids.with_values(last + 1)]
