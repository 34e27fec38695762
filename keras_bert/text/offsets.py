"""Where in the original text a token of the clean text comes from."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.text.words import clean_text


class TokensWithOffsets(NamedTuple):
    """Ids and, of each token, the part of the text from start to end.

    All are int32 RaggedTensors [B, (tokens)]. Bytes are those of the UTF-8
    string; characters are code points, as in a Python string. An invalid byte
    counts as a byte, but as no character.
    """

    ids: tf.RaggedTensor
    start_bytes: tf.RaggedTensor
    end_bytes: tf.RaggedTensor
    start_chars: tf.RaggedTensor
    end_chars: tf.RaggedTensor


def locate_tokens(
    parts: tf.RaggedTensor,
    ids: tf.RaggedTensor,
    starts: tf.RaggedTensor,
    ends: tf.RaggedTensor,
    *,
    lower_case: bool,
) -> TokensWithOffsets:
    """Turns offsets in clean parts of texts into offsets in the texts.

    `parts` are strings [B, (parts)] that make up the texts; `ids`, and
    `starts` and `ends` in bytes of the clean part, [B, (parts), (tokens)].
    """
    characters, char_starts = tf.strings.unicode_decode_with_offsets(
        parts.values, "UTF-8", errors="ignore"
    )
    sizes, clean_sizes = _sizes(characters.flat_values, lower_case)
    # From here on all is counted from the start of the first text.
    part_bytes = _splits(tf.strings.length(parts.values))
    char_starts = char_starts.flat_values + tf.gather(
        part_bytes, characters.value_rowids()
    )
    clean_bytes = _splits(clean_sizes)
    offsets = tf.gather(
        tf.gather(clean_bytes, characters.row_splits),
        ids.values.value_rowids(),
    )
    # The characters of a token's first and last byte; what vanishes at its
    # ends is not in it.
    first = tf.searchsorted(
        clean_bytes[1:], starts.flat_values + offsets, "right", tf.int64
    )
    last = tf.searchsorted(
        clean_bytes[1:], ends.flat_values + offsets, "left", tf.int64
    )
    tokens = ids.merge_dims(1, 2)

    def in_text(positions, part_splits):
        text_starts = tf.gather(part_splits, parts.row_splits)
        positions -= tf.gather(text_starts, tokens.value_rowids())
        return tokens.with_flat_values(tf.cast(positions, tf.int32))

    return TokensWithOffsets(
        tokens,
        in_text(tf.gather(char_starts, first), part_bytes),
        in_text(tf.gather(char_starts + sizes, last), part_bytes),
        in_text(first, characters.row_splits),
        in_text(last + 1, characters.row_splits),
    )


def _sizes(characters, lower_case):
    """Bytes of each character as it is and when clean, int64."""
    # Cleaning treats one character after the other; only the form of a final
    # sigma depends on others, and has as many bytes as the usual form.
    unique, index = tf.unique(characters)
    texts = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    return [
        tf.gather(tf.cast(tf.strings.length(t), tf.int64), index)
        for t in (texts, clean_text(texts, lower_case=lower_case))
    ]


def _splits(lengths):
    """Lengths [N] -> where each begins and the last ends, int64 [N+1]."""
    return tf.pad(tf.cumsum(tf.cast(lengths, tf.int64)), [[1, 0]])
