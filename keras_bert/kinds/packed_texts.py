"""Packs short texts into rows, so that they need no padding."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.models.shared_rows import can_share_rows, share_rows

Features = dict[str, tf.RaggedTensor]
# Attention compares all tokens of a row, also those of different texts. Up to
# this size, that takes no longer than the padding that is saved.
_TOKENS_PER_ROW = 128


def call_on_texts(
    model: keras.Model,
) -> Callable[[Features], dict[str, tf.Tensor]]:
    """Returns a function that calls a network on any number of texts.

    It takes ragged features [N, (tokens)], or [N, W, (tokens)] for texts in
    windows, and returns the outputs [N, ...]. If the network is a Keras model
    and reads the pooler's output, short texts share rows.
    """
    if not isinstance(model, keras.Model) or not can_share_rows(model):
        return lambda features: call_in_pieces(model, features)[1]
    of_rows = share_rows(model)

    def call(features):
        rows, places = pack_texts(features)
        _, outputs = call_in_pieces(of_rows, rows)
        return {name: take_texts(x, places) for name, x in outputs.items()}

    return call


def pack_texts(texts: Features) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Packs N texts into R rows of about the same length, with up to K texts.

    Rows are as long as the longest text, or as 128 tokens if that is longer,
    and a little longer if the texts do not fit together.

    Takes ragged `input_ids` and `segment_ids`, [N, (tokens)]. Returns the
    inputs of the network that `share_rows` makes, int32 [R, S], and the places
    of the texts among the R * K of all rows, [N], for `take_texts`.
    """
    input_ids = texts["input_ids"]
    lengths = input_ids.row_lengths()  # [N]
    num_texts = tf.size(lengths, tf.int64)
    row_size = tf.maximum(tf.reduce_max(lengths), _TOKENS_PER_ROW)
    num_rows = -(-tf.reduce_sum(lengths) // row_size)  # R
    divisor = tf.maximum(num_rows, 1)
    texts_per_row = tf.maximum(-(-num_texts // divisor), 1)  # K
    # From the longest text to the shortest one, each row gets a text; then
    # again, from the last row to the first one; and so on.
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ranks = tf.cast(tf.argsort(order), tf.int64)
    turns, rows = ranks // divisor, ranks % divisor
    rows = tf.where(turns % 2 == 0, rows, num_rows - 1 - rows)
    places = rows * texts_per_row + turns

    sizes = tf.scatter_nd(places[:, None], lengths, [num_rows * texts_per_row])
    sizes = tf.reshape(sizes, [num_rows, texts_per_row])
    begins = tf.cumsum(sizes, axis=1, exclusive=True)  # [R, K]
    seq_length = tf.maximum(tf.reduce_max(tf.reduce_sum(sizes, axis=1)), 0)
    begins = rows * seq_length + tf.gather(tf.reshape(begins, [-1]), places)

    owners = input_ids.value_rowids()  # the text of each token
    tokens = tf.range(tf.size(owners, tf.int64))
    shifts = begins - input_ids.row_starts()
    targets = (tokens + tf.gather(shifts, owners))[:, None]
    numbers = tf.cast(tf.gather(turns, owners) + 1, tf.int32)
    values = {name: x.flat_values for name, x in texts.items()}
    packed = {
        name: tf.reshape(
            tf.scatter_nd(
                targets, tf.cast(x, tf.int32), [num_rows * seq_length]
            ),
            [num_rows, seq_length],
        )
        for name, x in (values | {"input_mask": numbers}).items()
    }
    return packed, places


def take_texts(outputs: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Outputs of rows [R, K, ...] -> those of the texts [N, ...]."""
    sizes = tf.shape(outputs)
    return tf.gather(
        tf.reshape(outputs, tf.concat([[-1], sizes[2:]], axis=0)), places
    )
