"""BERT's own Adam (google-research/bert, optimization.py)."""

from __future__ import annotations

import functools

import keras
import tensorflow as tf

from keras_bert.training.optimizers.decoupled_decay import (
    DecoupledDecayOptimizer,
)
from keras_bert.training.optimizers.moments import (
    advance_moments,
    assign,
    compile_update,
    read,
)


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamWeightDecay(DecoupledDecayOptimizer):
    """Adam without bias correction, with decoupled weight decay.

    Updates p by -learning_rate * (m / (sqrt(v) + epsilon) + weight_decay_rate
    * p), as `AdamWeightDecayOptimizer` of google-research/bert does. Biases
    and layer norms are not decayed. For the arguments see
    `DecoupledDecayOptimizer`.

    Example:
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> optimizer = keras_bert.AdamWeightDecay(
        ...     keras_bert.WarmupDecay(1e-3, 100, 10)
        ... )
        >>> model.compile(optimizer, "mse")
        >>> history = model.fit(np.ones([8, 3]), np.ones(8), verbose=0)
    """

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        update = _compiled(
            variable.dtype,
            0.0 if self._excluded[index] else self.weight_decay_rate,
            self.beta_1,
            self.beta_2,
            self.epsilon,
        )
        update(
            variable.handle,
            self._momentums[index].value.handle,
            self._velocities[index].value.handle,
            tf.cast(gradient, variable.dtype),
            tf.cast(self.clip_scale, variable.dtype),
            tf.cast(self.rate_of(variable, learning_rate), variable.dtype),
        )


@functools.cache
def _compiled(dtype, weight_decay_rate, beta_1, beta_2, epsilon):
    def update(variable, momentum, velocity, gradient, scale, learning_rate):
        m, v = advance_moments(
            momentum, velocity, gradient * scale, beta_1, beta_2
        )
        p = read(variable, dtype)
        direction = m / (tf.sqrt(v) + epsilon) + weight_decay_rate * p
        assign(variable, p - learning_rate * direction)

    return compile_update(update, dtype, num_scalars=2)
