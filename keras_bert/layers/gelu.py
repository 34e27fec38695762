"""The two forms of GELU, also with a gradient of our own for training."""

import math
from collections.abc import Callable

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_tanh(x):
    """x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))."""
    return keras.activations.gelu(x, approximate=True)


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_erf(x):
    """x * 0.5 * (1 + erf(x / sqrt(2)))."""
    return keras.activations.gelu(x, approximate=False)


def for_training(activation: Callable) -> Callable:
    """Returns a version of one of the two that is faster in training.

    It computes in float32, because TensorFlow has no fast bfloat16 kernels of
    these functions for a CPU, and stores only x for its gradient. Any other
    activation is returned unchanged. In inference the plain forms are faster:
    TensorFlow fuses them with the matrix product.
    """
    return _FOR_TRAINING.get(activation, activation)


def _with_derivative(function, derivative):
    @ops.custom_gradient
    def call(x):
        def gradient(*args, upstream=None):  # by name on torch
            (upstream,) = args or (upstream,)
            slope = derivative(ops.cast(x, "float32"))
            return ops.cast(ops.cast(upstream, "float32") * slope, x.dtype)

        return ops.cast(function(ops.cast(x, "float32")), x.dtype), gradient

    return call


def _tanh(x):
    return ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


def _tanh_slope(x):
    tanh = _tanh(x)
    inner_slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner_slope


def _normal_cdf(x):
    return 0.5 * (1 + ops.erf(x * math.sqrt(0.5)))


def _erf_slope(x):
    density = math.sqrt(0.5 / math.pi) * ops.exp(-0.5 * x * x)
    return _normal_cdf(x) + x * density


_FOR_TRAINING = {
    gelu_tanh: _with_derivative(
        lambda x: 0.5 * x * (1 + _tanh(x)), _tanh_slope
    ),
    gelu_erf: _with_derivative(lambda x: x * _normal_cdf(x), _erf_slope),
}
