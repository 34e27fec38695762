"""BERT's own Adam and its learning rate (google-research/bert)."""

from __future__ import annotations

import re

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamWeightDecay(keras.optimizers.Optimizer):
    """Adam without bias correction, with decoupled weight decay.

    p -= learning_rate * (m / (sqrt(v) + epsilon) + weight_decay_rate * p), as
    `AdamWeightDecayOptimizer` of google-research/bert, optimization.py. A
    variable is not decayed where a pattern of `exclude_from_weight_decay` is
    found in its path. The gradients are cut to `global_clipnorm` first.
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
        name: str = "adam_weight_decay",
        **kwargs,
    ):
        super().__init__(
            learning_rate=learning_rate,
            global_clipnorm=global_clipnorm,
            name=name,
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
        self._decayed = [
            not any(
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

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        learning_rate = tf.cast(learning_rate, variable.dtype)
        if self._decayed[index]:
            variable.assign_sub(
                variable * (learning_rate * self.weight_decay_rate)
            )
        # One pass over memory. Powers of 0 leave the bias uncorrected.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=0.0,
            beta2_power=0.0,
            lr=learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(gradient, variable.dtype),
        )

    def get_config(self):
        return super().get_config() | {
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": self.exclude_from_weight_decay,
        }


@keras.saving.register_keras_serializable(package="keras_bert")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then linear decay to 0 at the last step.

    Called with the number of updates made before. The decay counts from the
    first step, not from the end of the warm-up, so the rate drops a little
    there: a quirk of google-research/bert, kept.
    """

    def __init__(
        self, learning_rate: float, num_train_steps: int, num_warmup_steps: int
    ):
        self.learning_rate = learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps

    def __call__(self, step):
        # The reference's first update is its step 1: its step is increased
        # beside the update, and read after that (golden/tf1_small).
        step = ops.cast(step, "float32") + 1.0
        share = ops.minimum(step / max(self.num_train_steps, 1), 1.0)
        return self.learning_rate * ops.where(
            step < self.num_warmup_steps,
            step / max(self.num_warmup_steps, 1),
            1.0 - share,
        )

    def get_config(self):
        return {
            "learning_rate": self.learning_rate,
            "num_train_steps": self.num_train_steps,
            "num_warmup_steps": self.num_warmup_steps,
        }
