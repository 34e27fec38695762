"""The one part of the network that differs between the backends of Keras."""

import functools
from collections.abc import Callable

import keras


def in_a_graph_of_its_own(function: Callable) -> Callable:
    """Returns a function of one tensor that TensorFlow traces once a dtype.

    With TensorFlow, a custom gradient keeps the graph that calls it until the
    process ends, and so all weights that this graph reads: a second `fit` would
    need them twice. Other backends call the function as it is.
    """
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    @functools.cache
    def trace(dtype):
        signature = [tf.TensorSpec(None, dtype)]
        with tf.init_scope():
            return tf.function(
                function, signature, autograph=False
            ).get_concrete_function()

    def call(x):
        y = trace(x.dtype)(x)
        y.set_shape(x.shape)
        return y

    return call
