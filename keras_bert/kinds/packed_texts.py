"""Packs short texts into rows, so that they need no padding."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.kinds.packed_choices import TOKENS_PER_SHARED_ROW
from keras_bert.models.shared_rows import can_share_rows, share_rows

Features = dict[str, tf.RaggedTensor]


def call_on_texts(
    model: keras.Model,
) -> Callable[[Features], dict[str, tf.Tensor]]:
    """Returns a function that calls a network on any number of texts.

    It takes ragged features [N, (tokens)], or [N, W, (tokens)] for texts in
    windows, and returns the outputs [N, ...]. If the network is a Keras model
    that pools the tokens of a text, short texts share rows.
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
    rows, turns, shape = _spread(lengths)
    num_rows, texts_per_row = tf.unstack(shape)
    places = rows * texts_per_row + turns
    sizes = tf.scatter_nd(places[:, None], lengths, [tf.reduce_prod(shape)])
    sizes = tf.reshape(sizes, shape)  # [R, K]
    seq_length = tf.reduce_max(tf.reduce_sum(sizes, axis=1))
    seq_length = tf.maximum(seq_length, 0)  # there may be no row
    begins = tf.reshape(tf.cumsum(sizes, axis=1, exclusive=True), [-1])
    begins = rows * seq_length + tf.gather(begins, places)  # [N]

    owners = input_ids.value_rowids()  # the text of each token
    shifts = tf.gather(begins - input_ids.row_starts(), owners)
    targets = (tf.range(tf.size(owners, tf.int64)) + shifts)[:, None]

    def to_rows(values):
        values = tf.scatter_nd(
            targets, tf.cast(values, tf.int32), [num_rows * seq_length]
        )
        return tf.reshape(values, [num_rows, seq_length])

    packed = {name: to_rows(x.flat_values) for name, x in texts.items()}
    packed["input_mask"] = to_rows(tf.gather(turns, owners) + 1)
    return packed, places


def _spread(lengths):
    """Spreads texts over rows of about the same length.

    From the longest text to the shortest one, each row gets a text; then again,
    from the last row to the first one; and so on. Returns the row of each text,
    its turn, [N] each, and the numbers of rows and turns, R and K.
    """
    num_texts = tf.size(lengths, tf.int64)
    row_size = tf.maximum(tf.reduce_max(lengths), TOKENS_PER_SHARED_ROW)
    num_rows = -(-tf.reduce_sum(lengths) // row_size)
    divisor = tf.maximum(num_rows, 1)  # there may be no text
    texts_per_row = tf.maximum(-(-num_texts // divisor), 1)
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ranks = tf.cast(tf.argsort(order), tf.int64)
    rows, turns = ranks % divisor, ranks // divisor
    rows = tf.where(turns % 2 == 0, rows, num_rows - 1 - rows)
    return rows, turns, tf.stack([num_rows, texts_per_row])


def take_texts(outputs: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Outputs of rows [R, K, ...] -> those of the texts [N, ...]."""
    sizes = tf.shape(outputs)
    return tf.gather(
        tf.reshape(outputs, tf.concat([[-1], sizes[2:]], axis=0)), places
    )
