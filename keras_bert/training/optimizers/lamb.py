"""LAMB, for batches of thousands (You et al., 2019, arXiv 1904.00962)."""

from __future__ import annotations

import functools

import keras
import tensorflow as tf

from keras_bert.training.optimizers.decoupled_decay import (
    DecoupledDecayOptimizer,
)
from keras_bert.training.optimizers.moments import (
    advance_moments,
    compile_update,
    read,
)


@keras.saving.register_keras_serializable(package="keras_bert")
class Lamb(DecoupledDecayOptimizer):
    """Adam whose step on each variable is proportional to the variable's norm.

    Algorithm 2 of the paper, with bias correction: the direction u is
    m_hat / (sqrt(v_hat) + epsilon) + weight_decay_rate * p, and p changes by
    -learning_rate * |p| / |u| * u. The ratio is 1 if a norm is 0. Biases and
    layer norms have neither decay nor ratio. For the arguments see
    `DecoupledDecayOptimizer`.

    Example:
        >>> optimizer = keras_bert.Lamb(0.01, weight_decay_rate=0.0)
        >>> kernel = keras.Variable([3.0, 4.0])
        >>> optimizer.apply([tf.constant([0.1, 0.1])], [kernel])
        >>> bool(abs(kernel.numpy() - [2.965, 3.965]).max() < 1e-3)
        True
    """

    def update_step(self, gradient, variable, learning_rate):
        dtype = variable.dtype
        index = self._get_variable_index(variable)
        excluded = self._excluded[index]
        compute_direction = _compiled(
            dtype,
            0.0 if excluded else self.weight_decay_rate,
            self.beta_1,
            self.beta_2,
            self.epsilon,
        )
        # In float64: 1 - 0.999 has only four digits in float32.
        step = tf.cast(self.iterations, tf.float64) + 1.0
        direction = compute_direction(
            variable.handle,
            self._momentums[index].value.handle,
            self._velocities[index].value.handle,
            tf.cast(gradient, dtype),
            tf.cast(self.clip_scale, dtype),
            tf.cast(1.0 - self.beta_1**step, dtype),
            tf.cast(1.0 - self.beta_2**step, dtype),
        )
        learning_rate = tf.cast(self.rate_of(variable, learning_rate), dtype)
        if not excluded:
            learning_rate *= _trust_ratio(
                read(variable.handle, dtype), direction
            )
        # variable.assign_sub(learning_rate * direction) in one pass.
        tf.raw_ops.ResourceApplyGradientDescent(
            var=variable.handle, alpha=learning_rate, delta=direction
        )


@functools.cache
def _compiled(dtype, weight_decay_rate, beta_1, beta_2, epsilon):
    def compute_direction(
        variable,
        momentum,
        velocity,
        gradient,
        scale,
        correction_1,
        correction_2,
    ):
        m, v = advance_moments(
            momentum, velocity, gradient * scale, beta_1, beta_2
        )
        m_hat, v_hat = m / correction_1, v / correction_2
        decay = weight_decay_rate * read(variable, dtype)
        return m_hat / (tf.sqrt(v_hat) + epsilon) + decay

    return compile_update(compute_direction, dtype, num_scalars=3)


def _trust_ratio(variable, direction):
    # Not in the compiled loop: on a CPU, XLA computes a sum on one core.
    p, u = tf.nn.l2_loss(variable), tf.nn.l2_loss(direction)
    return tf.where((p > 0) & (u > 0), tf.sqrt(p / u), 1.0)
