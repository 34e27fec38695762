"""What BERT's optimizers share: moments, exclusions and clipping."""

from __future__ import annotations

import re
from collections.abc import Mapping

import keras
from keras import ops

from keras_bert.training.optimizers.parts import (
    half_square_sum,
    run_update,
    sum_over_replicas,
)
from keras_bert.training.optimizers.rate_factors import factor_of, scaled
from keras_bert.training.optimizers.summed_gradients import SumsGradients


class DecoupledDecayOptimizer(SumsGradients, keras.optimizers.Optimizer):
    """Keeps two moments per variable and decays the weights apart from them.

    Two replicas give the same update as one device with both batches.

    A subclass defines `update_step`, which calls `advance`, must multiply the
    gradient by `self.clip_scale` and takes the rate from `self.rate_of`.

    Args:
        learning_rate: A number or a schedule.
        weight_decay_rate: Decay per step, multiplied by the learning rate.
        beta_1: Decay of the mean of the gradients.
        beta_2: Decay of the mean of their squares.
        epsilon: Added to the root of the second moment.
        exclude_from_weight_decay: Regular expressions. A variable is not
            decayed if one of them is found in its path.
        global_clipnorm: Largest global norm of the gradients, or None.
        learning_rate_factors: Factors of the learning rate, by a regular
            expression; see `factor_of`.
        **kwargs: Those of `keras.optimizers.Optimizer`.
    """

    def __init__(
        self,
        learning_rate=1e-4,
        weight_decay_rate: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        exclude_from_weight_decay: tuple[str, ...] = ("layer_norm", "bias"),
        global_clipnorm: float | None = 1.0,
        learning_rate_factors: Mapping[str, float] | None = None,
        **kwargs,
    ):
        super().__init__(
            learning_rate=learning_rate,
            global_clipnorm=global_clipnorm,
            **kwargs,
        )
        self.weight_decay_rate = weight_decay_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.learning_rate_factors = dict(learning_rate_factors or {})
        self.exclude_from_weight_decay(var_names=exclude_from_weight_decay)

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Replaces the exclusions, before the optimizer is built.

        Differs from Keras in that `var_names` are searched for in the path of
        a variable (`layer_0/output/bias`), not in its last part only.
        """
        if getattr(self, "built", False):
            raise ValueError(
                "exclude_from_weight_decay must be called before the optimizer "
                "is built."
            )
        self._excluded_keys = {self._var_key(v) for v in var_list or ()}
        self._excluded_names = tuple(var_names or ())

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        self._excluded = [
            self._var_key(variable) in self._excluded_keys
            or any(re.search(n, variable.path) for n in self._excluded_names)
            for variable in variables
        ]
        self._factors = [
            factor_of(variable.path, self.learning_rate_factors)
            for variable in variables
        ]

    def rate_of(self, variable, learning_rate):
        """Returns the learning rate of a variable."""
        index = self._get_variable_index(variable)
        return scaled(learning_rate, self._factors[index])

    def advance(self, update, variable, gradient, *scalars):
        """Assigns what `update` returns; see `run_update`.

        It is called with the moments and the variable, the gradient, the
        scalars, and the decay, beta_1, beta_2 and epsilon.
        """
        index = self._get_variable_index(variable)
        return run_update(
            update,
            (
                0.0 if self.is_excluded(variable) else self.weight_decay_rate,
                self.beta_1,
                self.beta_2,
                self.epsilon,
            ),
            (self._momentums[index], self._velocities[index], variable),
            gradient,
            *scalars,
        )

    def is_excluded(self, variable):
        """Returns whether a variable is not decayed."""
        return self._excluded[self._get_variable_index(variable)]

    def apply(self, grads, trainable_variables=None):
        super().apply(grads, trainable_variables)
        self.clip_scale = None  # a tensor of this graph, of no use in another

    def _clip_gradients(self, grads):
        self.clip_scale = 1.0
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        grads = sum_over_replicas(grads)
        # Only computes the factor: the update reads each gradient anyway, and
        # a product of its own would read and write them all once more.
        halves = [half_square_sum(g) for g in grads]
        norm = ops.sqrt(2.0 * ops.sum(ops.stack(halves)))
        self.clip_scale = self.global_clipnorm / ops.maximum(
            norm, self.global_clipnorm
        )
        # NaN if the norm is not finite, instead of half an update.
        self.clip_scale += norm - norm
        return grads

    def get_config(self):
        return super().get_config() | {
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": self._excluded_names,
            "learning_rate_factors": dict(self.learning_rate_factors),
        }
