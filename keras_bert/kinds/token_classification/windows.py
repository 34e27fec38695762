"""Cuts texts of any length into windows, and reads each word in one."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.windows import lay_out_windows


class WordWindows(NamedTuple):
    """N windows; those of a text follow each other.

    Attributes:
        input_ids: int32 [N, (tokens)], from [CLS] to [SEP].
        text_numbers: int64 [N], the text of each window, in rising order.
        is_read: bool [N, (tokens)], whether a word is read at the token: its
            first one, in one of the windows. Through all windows, the words
            are in the order of the texts.
    """

    input_ids: tf.RaggedTensor
    text_numbers: tf.Tensor
    is_read: tf.RaggedTensor


def tokenize_words(
    words: tf.RaggedTensor, tokenizer: BertTokenizer
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Returns ids, and whether each begins a word, [B, (tokens)].

    Takes words [B, (words)]. A word for which the tokenizer has no token, such
    as a control character, becomes [UNK].
    """
    pieces = tokenizer(words.values)
    is_empty = tf.cast(pieces.row_lengths() == 0, tf.int64)
    unknown = tf.RaggedTensor.from_row_lengths(
        tf.fill([tf.reduce_sum(is_empty)], tokenizer.unk_id), is_empty
    )
    pieces = tf.concat([pieces, unknown], axis=1)
    begins_word = tf.ragged.range(pieces.row_lengths()) == 0
    ids, begins_word = (
        words.with_values(t).merge_dims(1, 2) for t in (pieces, begins_word)
    )
    return ids, begins_word


def window_words(
    ids: tf.RaggedTensor,
    begins_word: tf.RaggedTensor,
    *,
    max_seq_length: int,
    tokenizer: BertTokenizer,
) -> WordWindows:
    """Cuts tokens [B, (tokens)] into windows of up to `max_seq_length` tokens.

    Two neighbors share half of their tokens or more, because the last window
    is a full one that ends with the text. A word is read in the window with
    the most text around its first token.
    """
    size = max_seq_length - 2
    layout = lay_out_windows(ids.row_lengths(), size=size, step=size // 2)
    starts, ends = layout.starts, layout.ends

    # The first half of the shared tokens is read in the first window.
    shared = (starts[1:] + ends[:-1]) // 2
    is_first = layout.numbers.values == 0
    is_last = tf.concat([is_first[1:], [True]], axis=0)
    read_from = tf.where(is_first, starts, tf.pad(shared, [[1, 0]]))
    read_to = tf.where(is_last, ends, tf.pad(shared, [[0, 1]]))

    flat_places = layout.places(ids)  # [N, (tokens)]
    windows = flat_places.value_rowids()
    places = flat_places.values - tf.gather(
        tf.gather(ids.row_starts(), layout.text_numbers), windows
    )
    is_read = (
        tf.gather(begins_word.values, flat_places.values)
        & (places >= tf.gather(read_from, windows))
        & (places < tf.gather(read_to, windows))
    )
    return WordWindows(
        layout.surround(
            tokenizer.cls_id,
            tf.gather(ids.values, flat_places.values),
            tokenizer.sep_id,
        ),
        layout.text_numbers,
        layout.surround(False, is_read, False),
    )
