"""BERT's own Adam (google-research/bert, optimization.py)."""

from __future__ import annotations

import keras
from keras import ops

from keras_bert.training.optimizers.decoupled_decay import (
    DecoupledDecayOptimizer,
)
from keras_bert.training.optimizers.moments import advance_moments


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamWeightDecay(DecoupledDecayOptimizer):
    """Adam without bias correction, with decoupled weight decay.

    Updates p by -learning_rate * (m / (sqrt(v) + epsilon) + weight_decay_rate
    * p), as `AdamWeightDecayOptimizer` of google-research/bert does. Biases
    and layer norms are not decayed. For the arguments see
    `DecoupledDecayOptimizer`.

    Example:
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> optimizer = keras_bert.training.AdamWeightDecay(
        ...     keras_bert.training.WarmupDecay(1e-3, 100, 10)
        ... )
        >>> model.compile(optimizer, "mse")
        >>> history = model.fit(np.ones([8, 3]), np.ones(8), verbose=0)
    """

    def update_step(self, gradient, variable, learning_rate):
        self.advance(
            _update,
            variable,
            gradient,
            self.clip_scale,
            self.rate_of(variable, learning_rate),
        )


def _update(
    m, v, p, gradient, scale, learning_rate, decay, beta_1, beta_2, epsilon
):
    m, v = advance_moments(m, v, gradient * scale, beta_1, beta_2)
    direction = m / (ops.sqrt(v) + epsilon) + decay * p
    return (m, v, p - learning_rate * direction), None
