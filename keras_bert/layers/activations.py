"""The activations that `bert_config.json` names."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert.errors import check_choice
from keras_bert.layers.backend import traced_separately


def get_activation(hidden_act: str) -> Callable:
    """Returns the activation that BERT, not Keras, means by a name.

    "gelu" is the tanh form of google-research/bert. Keras' own "gelu" is the
    erf form, which is "gelu_erf" here.
    """
    activations = {
        "gelu": gelu_tanh,
        "gelu_erf": gelu_erf,
        "linear": keras.activations.linear,
        "relu": keras.activations.relu,
        "silu": keras.activations.silu,
        "tanh": keras.activations.tanh,
    }
    check_choice("activation", hidden_act, activations)
    return activations[hidden_act]


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_tanh(x: Any) -> Any:
    """Returns x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))."""
    return keras.activations.gelu(x, approximate=True)


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_erf(x: Any) -> Any:
    """Returns x * 0.5 * (1 + erf(x / sqrt(2)))."""
    return keras.activations.gelu(x, approximate=False)


def for_training(activation: Callable) -> Callable:
    """Returns a version of `gelu_tanh` or `gelu_erf` for faster training.

    This version computes in float32, because TensorFlow has no fast bfloat16
    kernels for these functions on a CPU. It keeps only x for the gradient. In
    inference, the plain functions are faster, because TensorFlow fuses them
    with the matrix product. Any other activation is returned unchanged.
    """
    return _FOR_TRAINING.get(activation, activation)


def _with_derivative(function: Any, derivative: Any) -> Any:
    @ops.custom_gradient
    def call(x: Any) -> Any:
        def gradient(*args: Any, upstream: Any = None) -> Any:
            # torch passes the input by position and `upstream` by name.
            if upstream is None:
                (upstream,) = args
            slope = derivative(ops.cast(x, "float32"))
            return ops.cast(ops.cast(upstream, "float32") * slope, x.dtype)

        return ops.cast(function(ops.cast(x, "float32")), x.dtype), gradient

    return traced_separately(call)


# 0.5 * (1 + tanh(z / 2)) is sigmoid(z). With z = _SCALE * (x + 0.044715 x^3),
# GELU is x * sigmoid(z), which takes two thirds of the operations. Each
# operation reads and writes a whole tensor.
_SCALE = 2 * math.sqrt(2 / math.pi)


def _logit(x: Any) -> Any:
    return x * (_SCALE + 0.044715 * _SCALE * (x * x))


def _tanh_slope(x: Any) -> Any:
    logit = _logit(x)
    share = ops.sigmoid(logit)
    # 3 * logit - 2 * _SCALE * x is x times the slope of the logit.
    return share * (1 + (1 - share) * (3 * logit - 2 * _SCALE * x))


def _normal_cdf(x: Any) -> Any:
    return 0.5 * (1 + ops.erf(x * math.sqrt(0.5)))


def _erf_slope(x: Any) -> Any:
    density = math.sqrt(0.5 / math.pi) * ops.exp(-0.5 * x * x)
    return _normal_cdf(x) + x * density


_FOR_TRAINING = {
    gelu_tanh: _with_derivative(
        lambda x: x * ops.sigmoid(_logit(x)), _tanh_slope
    ),
    gelu_erf: _with_derivative(lambda x: x * _normal_cdf(x), _erf_slope),
}
