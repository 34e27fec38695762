"""LAMB, for batches of thousands (You et al., 2019, arXiv 1904.00962)."""

from __future__ import annotations

import math

import keras
from keras import ops

from keras_bert.training.optimizers.decoupled_decay import (
    DecoupledDecayOptimizer,
)
from keras_bert.training.optimizers.moments import advance_moments
from keras_bert.training.optimizers.parts import (
    half_square_sum,
    subtract_product,
)

# JAX has no float64 by default.
_STEP_DTYPE = "float32" if keras.backend.backend() == "jax" else "float64"


@keras.saving.register_keras_serializable(package="keras_bert")
class Lamb(DecoupledDecayOptimizer):
    """Adam whose step on each variable is proportional to the variable's norm.

    Algorithm 2 of the paper, with bias correction: the direction u is
    m_hat / (sqrt(v_hat) + epsilon) + weight_decay_rate * p, and p changes by
    -learning_rate * |p| / |u| * u. The ratio is 1 if a norm is 0. Biases and
    layer norms have neither decay nor ratio. For the arguments see
    `DecoupledDecayOptimizer`.

    Example:
        >>> optimizer = keras_bert.training.Lamb(0.01, weight_decay_rate=0.0)
        >>> kernel = keras.Variable([3.0, 4.0])
        >>> optimizer.apply([np.array([0.1, 0.1])], [kernel])
        >>> bool(abs(kernel.numpy() - [2.965, 3.965]).max() < 1e-3)
        True
    """

    def update_step(self, gradient, variable, learning_rate):
        step = ops.cast(self.iterations, _STEP_DTYPE) + 1.0
        direction = self.advance(
            _direction,
            variable,
            gradient,
            self.clip_scale,
            -ops.expm1(step * math.log(self.beta_1)),  # 1 - beta_1**step
            -ops.expm1(step * math.log(self.beta_2)),
        )
        rate = ops.cast(self.rate_of(variable, learning_rate), direction.dtype)
        if not self.is_excluded(variable):
            # Not *=, which on torch changes the rate of all variables.
            ratio = _trust_ratio(ops.convert_to_tensor(variable), direction)
            rate = rate * ratio
        subtract_product(variable, rate, direction)


def _direction(
    m,
    v,
    p,
    gradient,
    scale,
    correction_1,
    correction_2,
    decay,
    beta_1,
    beta_2,
    epsilon,
):
    m, v = advance_moments(m, v, gradient * scale, beta_1, beta_2)
    m_hat, v_hat = m / correction_1, v / correction_2
    return (m, v), m_hat / (ops.sqrt(v_hat) + epsilon) + decay * p


def _trust_ratio(variable, direction):
    # Not in the compiled loop: on a CPU, XLA computes a sum on one core.
    p, u = half_square_sum(variable), half_square_sum(direction)
    return ops.where((p > 0) & (u > 0), ops.sqrt(p / u), 1.0)
