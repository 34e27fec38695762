"""Calls a network on any number of texts, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_bert.kinds.packed_rows import Features, pack_texts, take_texts
from keras_bert.models.rewired import can_pack, with_packed_rows
from keras_bert.text.packing import pad

# The largest number of tokens, with padding, in a call of the network: 32
# windows of 512. A larger number is not faster on a CPU.
_TOKENS_PER_CALL = 16_384


def call_on_texts(
    model: keras.Model,
) -> Callable[[Features], dict[str, tf.Tensor]]:
    """Returns a function that calls a network on any number of texts.

    It takes ragged features [N, (tokens)], or [N, W, (tokens)] for texts in
    windows, and returns the outputs [N, ...]. If the network is a Keras model
    that pools the tokens of a text, short texts are packed into rows.
    """
    if not isinstance(model, keras.Model) or not can_pack(model):
        return lambda features: call_in_pieces(model, features)[1]
    packed = with_packed_rows(model)

    def call(features):
        rows, places = pack_texts(features)
        rows = {name: rows[name] for name in packed.input}
        _, outputs = call_in_pieces(packed, rows)
        return {name: take_texts(x, places) for name, x in outputs.items()}

    return call


def call_in_pieces(
    model: keras.Model,
    features: dict[str, tf.Tensor | tf.RaggedTensor],
    *,
    tokens_per_call: int | None = None,
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Calls a network on N examples, a bounded number of tokens at a time.

    Takes ragged features, [N, (tokens)] or [N, R, (tokens)]. N may be unknown,
    as it is in the graph of a SavedModel. Returns the padded features and the
    outputs, [N, ...].
    """
    features = pad(features)
    num_examples, *sizes = tf.unstack(tf.shape(features["input_ids"]))
    tokens_per_example = tf.maximum(tf.reduce_prod(sizes), 1)
    tokens_per_call = tokens_per_call or _TOKENS_PER_CALL
    size = tf.maximum(tokens_per_call // tokens_per_example, 1)
    num_calls = tf.maximum(-(-num_examples // size), 1)
    arrays = {
        name: tf.TensorArray(
            x.dtype, num_calls, infer_shape=False, element_shape=x.shape
        )
        for name, x in model.output.items()
    }

    def call(i, arrays):
        piece = {
            name: x[i * size : (i + 1) * size] for name, x in features.items()
        }
        outputs = model(piece)
        return i + 1, {
            name: array.write(i, outputs[name])
            for name, array in arrays.items()
        }

    _, arrays = tf.while_loop(
        lambda i, _: i < num_calls,
        call,
        (tf.constant(0), arrays),
        parallel_iterations=1,
    )
    return features, {name: array.concat() for name, array in arrays.items()}
