import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.layers.activations import for_training, gelu_erf, gelu_tanh
from keras_bert.layers.dense import build_dense

X = np.concatenate([np.linspace(-12, 12, 4801), [-1e4, 1e4]]).astype("float32")
GELUS = pytest.mark.parametrize("gelu", [gelu_erf, gelu_tanh])
pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="takes gradients"
)


def _with_gradient(function, x):
    upstream = tf.cast(tf.cos(tf.cast(x, tf.float32)), x.dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    gradient = tape.gradient(y, x, upstream)
    assert y.dtype == gradient.dtype == x.dtype
    return tf.cast(y, tf.float32), tf.cast(gradient, tf.float32)


@GELUS
@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_values_and_gradients_equal_those_of_the_plain_form(gelu, jit_compile):
    function = for_training(gelu)
    if jit_compile is not None:
        function = tf.function(function, jit_compile=jit_compile)
    x = tf.constant(X)
    for found, expected in zip(
        _with_gradient(function, x), _with_gradient(gelu, x), strict=True
    ):
        # 1 + erf is rounded to 1e-7 and multiplied by x. XLA's tanh is 1e-6
        # off.
        tolerance = 2e-6 + 2e-7 * np.abs(X)
        np.testing.assert_array_less(np.abs(found - expected), tolerance)


@GELUS
def test_in_bfloat16_it_equals_the_rounded_float32_form(gelu):
    x = tf.cast(X, tf.bfloat16)
    for found, expected in zip(
        _with_gradient(for_training(gelu), x),
        _with_gradient(gelu, tf.cast(x, tf.float32)),
        strict=True,
    ):
        # Upstream gradients are rounded too, each time by half of 2^-8.
        np.testing.assert_allclose(found, expected, rtol=2**-7, atol=1e-5)


def test_any_other_activation_is_returned_unchanged():
    assert for_training(keras.activations.relu) is keras.activations.relu


@pytest.mark.parametrize("activation", ["gelu_erf", "gelu", "tanh", "linear"])
def test_a_layer_is_the_same_in_training_and_inference(activation):
    parent = keras.layers.Layer(dtype="float32")
    parent.initializer_range = 1.0
    layer = build_dense(parent, "dense", 5, 7, activation)
    layer.bias.assign(np.arange(7.0))
    x = np.random.default_rng(1).normal(size=(30, 5)).astype("float32")
    np.testing.assert_allclose(
        layer(x, training=True), layer(x, training=False), atol=2e-6
    )
