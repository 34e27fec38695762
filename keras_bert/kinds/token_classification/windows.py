"""Texts of any length -> windows; each word is read out of one of them."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer


class WordWindows(NamedTuple):
    """N windows, those of a text one after the other.

    Attributes:
        input_ids: int32 [N, (tokens)], from [CLS] to [SEP].
        text_numbers: int64 [N], the text of each window, in rising order.
        is_read: bool [N, (tokens)], the first token of a word, in the window
            where the word is read. In the order of the windows these are all
            words of all texts, in their order.
    """

    input_ids: tf.RaggedTensor
    text_numbers: tf.Tensor
    is_read: tf.RaggedTensor


def tokenize_words(
    words: tf.RaggedTensor, tokenizer: BertTokenizer
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Words [B, (words)] -> ids and whether each begins a word, [B, (tokens)].

    A word of which the tokenizer leaves nothing is [UNK].
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
    seq_length: int,
    tokenizer: BertTokenizer,
) -> WordWindows:
    """Cuts tokens [B, (tokens)] into windows of at most `seq_length`.

    Two windows share half of their tokens, and a word is read where its first
    token has most of the text around it. The last window ends with the text
    and is as long as the others.
    """
    size = seq_length - 2
    step = size // 2
    lengths = ids.row_lengths()
    num_windows = 1 + (tf.maximum(lengths - size, 0) + step - 1) // step
    numbers = tf.ragged.range(num_windows)  # [B, (windows)]
    text_numbers = numbers.value_rowids()
    text_lengths = tf.gather(lengths, text_numbers)  # [N]
    last_start = tf.maximum(text_lengths - size, 0)
    starts = tf.minimum(numbers.values * step, last_start)
    ends = tf.minimum(starts + size, text_lengths)

    # Of what two windows share, the first half is read in the first of them.
    shared = (starts[1:] + ends[:-1]) // 2
    is_first = numbers.values == 0
    is_last = tf.concat([is_first[1:], [True]], axis=0)
    read_from = tf.where(is_first, starts, tf.pad(shared, [[1, 0]]))
    read_to = tf.where(is_last, ends, tf.pad(shared, [[0, 1]]))

    places = tf.ragged.range(starts, ends)  # in the text, [N, (tokens)]
    windows = places.value_rowids()
    flat_places = places.values + tf.gather(
        tf.gather(ids.row_starts(), text_numbers), windows
    )
    is_read = (
        tf.gather(begins_word.values, flat_places)
        & (places.values >= tf.gather(read_from, windows))
        & (places.values < tf.gather(read_to, windows))
    )

    def between(first, values, last):
        columns = (tf.fill([tf.size(starts), 1], x) for x in (first, last))
        first, last = (tf.RaggedTensor.from_tensor(x) for x in columns)
        return tf.concat([first, places.with_values(values), last], axis=1)

    return WordWindows(
        between(
            tokenizer.cls_id,
            tf.gather(ids.values, flat_places),
            tokenizer.sep_id,
        ),
        text_numbers,
        between(False, is_read, False),
    )
