"""Keras' AdamW, with another learning rate for some variables."""

from __future__ import annotations

from collections.abc import Mapping

import keras
from keras import ops

from keras_bert.training.optimizers.rate_factors import factor_of, scaled
from keras_bert.training.optimizers.summed_gradients import SumsGradients


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamW(SumsGradients, keras.optimizers.AdamW):
    """Keras' AdamW whose rate and decay have a factor for each variable.

    Without factors, and on one device, it gives the numbers of Keras' own; for
    clipping see `SumsGradients`.

    Args:
        *args: Those of `keras.optimizers.AdamW`.
        learning_rate_factors: Factors of the learning rate, by a regular
            expression; see `factor_of`.
        **kwargs: Those of `keras.optimizers.AdamW`.
    """

    def __init__(
        self,
        *args,
        learning_rate_factors: Mapping[str, float] | None = None,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        self.learning_rate_factors = dict(learning_rate_factors or {})

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._factors = [
            factor_of(variable.path, self.learning_rate_factors)
            for variable in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        factor = self._factors[self._get_variable_index(variable)]
        learning_rate = scaled(learning_rate, factor)
        if self.weight_decay is not None and self._use_weight_decay(variable):
            rate = ops.cast(learning_rate, variable.dtype)
            decay = ops.cast(self.weight_decay, variable.dtype)
            variable.assign_sub(variable * decay * rate)
        super().update_step(gradient, variable, learning_rate)

    def _apply_weight_decay(self, variables):
        """Does nothing: `update_step` knows the rate of its variable."""

    def get_config(self):
        return super().get_config() | {
            "learning_rate_factors": dict(self.learning_rate_factors)
        }
