"""The parts of the network that differ between Keras backends."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np


def traced_separately(function: Callable) -> Callable:
    """Wraps a function of one tensor: TensorFlow traces it once per dtype.

    In TensorFlow, the graph that calls a custom gradient stays in memory until
    the process ends, together with all weights that this graph reads. So during
    a second `fit`, the weights would be in memory twice. The separate graph
    contains only the function, so it reads no weights. With other backends, the
    function is returned unchanged.
    """
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    @functools.cache
    def trace(dtype: Any) -> Any:
        signature = [tf.TensorSpec(None, dtype)]
        with tf.init_scope():
            return tf.function(
                function, signature, autograph=False
            ).get_concrete_function()

    def call(x: Any) -> Any:
        y = trace(x.dtype)(x)
        y.set_shape(x.shape)
        return y

    return call


def known_values(x: Any) -> np.ndarray:
    """Returns the values of a tensor if TensorFlow runs outside of a graph.

    In a graph or with another backend, the result is empty, because reading the
    values would fail or take time.
    """
    is_tensorflow = keras.backend.backend() == "tensorflow"
    return x.numpy() if is_tensorflow and hasattr(x, "numpy") else np.empty(0)
