"""Runs a network on the windows of long texts, in bounded memory."""

from __future__ import annotations

import keras
import tensorflow as tf

from keras_bert.text.packing import pad

# The largest number of tokens, with padding, in a call of the network: 32
# windows of 512. A larger number is not faster on a CPU.
_TOKENS_PER_CALL = 16_384


def call_on_windows(
    model: keras.Model, features: dict[str, tf.RaggedTensor]
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Calls a network on windows [W, (tokens)], a bounded number at a time.

    W may be unknown, as it is in the graph of a SavedModel. Returns the padded
    features [W, S] and the outputs [W, S, ...].
    """
    features = pad(features)
    num_windows, seq_length = tf.unstack(tf.shape(features["input_ids"]))
    size = tf.maximum(_TOKENS_PER_CALL // seq_length, 1)
    num_calls = -(-num_windows // size)
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
