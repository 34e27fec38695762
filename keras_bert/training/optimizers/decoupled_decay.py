"""What BERT's optimizers share: moments, exclusions and one clipping."""

from __future__ import annotations

import re

import keras
import tensorflow as tf


class DecoupledDecayOptimizer(keras.optimizers.Optimizer):
    """Two moments a variable, and a decay that stays out of them.

    A variable is excluded where a pattern of `exclude_from_weight_decay` is
    found in its path. The gradients are summed over the replicas and then cut
    to `global_clipnorm`, so that two replicas move as one with both batches;
    Keras' own optimizers cut the gradients of each replica.

    A subclass has `update_step((gradient, scale), variable, learning_rate)`:
    the gradient is dense and has still to be multiplied by the scale.
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
        self.exclude_from_weight_decay = tuple(exclude_from_weight_decay)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        self._excluded = [
            any(
                re.search(pattern, variable.path)
                for pattern in self.exclude_from_weight_decay
            )
            for variable in variables
        ]

    def apply(self, grads, trainable_variables=None):
        # The gradient of an embedding is a list of rows. The reference makes
        # it dense as well: its moments decay for every row at every step.
        grads = [g if g is None else tf.convert_to_tensor(g) for g in grads]
        return super().apply(grads, trainable_variables)

    def _clip_gradients(self, grads):
        # Called before the sum over replicas: too early for the global norm.
        return grads if self.global_clipnorm else super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        summed = [
            (tf.cast(gradient, variable.dtype), variable)
            for gradient, variable in super()._all_reduce_sum_gradients(
                grads_and_vars
            )
        ]
        scale = tf.constant(1.0)
        if self.global_clipnorm:
            norm = tf.linalg.global_norm([gradient for gradient, _ in summed])
            scale = self.global_clipnorm / tf.maximum(
                norm, self.global_clipnorm
            )
            # NaN where the norm is not finite, instead of half an update.
            scale += norm - norm
        # Multiplied in the update, which goes through the gradient anyway.
        return [((gradient, scale), variable) for gradient, variable in summed]

    def get_config(self):
        return super().get_config() | {
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": self.exclude_from_weight_decay,
        }
