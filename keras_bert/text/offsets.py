"""The places of tokens in the original text."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.words import clean_text


class TokensWithOffsets(NamedTuple):
    """Ids, and the part of the text from start to end that each token is.

    All are int32 RaggedTensors [B, (tokens)]. Bytes are those of the UTF-8
    string; characters are code points, as in a Python string. An invalid byte
    counts as a byte, but not as a character.
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
    settings: TokenizerSettings,
) -> TokensWithOffsets:
    """Turns offsets in clean parts of texts into offsets in the texts.

    The strings `parts` [B, (parts)] make up the texts. `ids` are
    [B, (parts), (tokens)], as are `starts` and `ends`, which count bytes of
    the clean part.
    """
    characters, char_starts = tf.strings.unicode_decode_with_offsets(
        parts.values, "UTF-8", errors="ignore"
    )
    sizes, clean_sizes = _sizes(characters.flat_values, settings)
    # From here on, all positions count from the start of the first text.
    part_bytes = _splits(tf.strings.length(parts.values))
    char_starts = char_starts.flat_values + tf.gather(
        part_bytes, characters.value_rowids()
    )
    clean_bytes = _splits(clean_sizes)
    offsets = tf.gather(
        tf.gather(clean_bytes, characters.row_splits),
        ids.values.value_rowids(),
    )
    # The characters of a token's first and last byte. A token does not include
    # removed characters at its ends.
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


def _sizes(characters, settings):
    """Bytes of each character before and after cleaning, int64."""
    # Cleaning treats each character by itself, except for a final sigma, which
    # has as many bytes as the usual form.
    unique, index = tf.unique(characters)
    texts = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    return [
        tf.gather(tf.cast(tf.strings.length(t), tf.int64), index)
        for t in (texts, clean_text(texts, settings))
    ]


def _splits(lengths):
    """Lengths [N] -> the start of each and the end of the last, int64 [N+1]."""
    return tf.pad(tf.cumsum(tf.cast(lengths, tf.int64)), [[1, 0]])
