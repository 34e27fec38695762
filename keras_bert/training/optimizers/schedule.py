"""BERT's learning rate (google-research/bert, optimization.py)."""

from __future__ import annotations

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay to 0 at the last step.

    The rate decays as (1 - step / num_train_steps) ** power. The decay counts
    from the first step, not from the end of the warm-up, so the rate drops a
    little there: a quirk of google-research/bert, kept.

    Args:
        learning_rate: The peak.
        num_train_steps: The step at which the rate is 0.
        num_warmup_steps: Steps until the rate is at its peak.
        power: 1 decays linearly; NVIDIA's recipe for LAMB has 0.5.

    Example:
        >>> schedule = keras_bert.training.WarmupDecay(0.01, 100, 10)
        >>> [round(float(schedule(updates)), 4) for updates in (0, 4, 54, 99)]
        [0.001, 0.005, 0.0045, 0.0]
    """

    def __init__(
        self,
        learning_rate: float,
        num_train_steps: int,
        num_warmup_steps: int,
        power: float = 1.0,
    ):
        self.learning_rate = learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps
        self.power = power

    def __call__(self, step):
        # The first update of the reference is step 1: it increases the step
        # beside the update and reads it afterwards (golden/tf1_small).
        step = ops.cast(step, "float32") + 1.0
        share = ops.minimum(step / max(self.num_train_steps, 1), 1.0)
        return self.learning_rate * ops.where(
            step < self.num_warmup_steps,
            step / max(self.num_warmup_steps, 1),
            (1.0 - share) ** self.power,
        )

    def get_config(self):
        return {
            "learning_rate": self.learning_rate,
            "num_train_steps": self.num_train_steps,
            "num_warmup_steps": self.num_warmup_steps,
            "power": self.power,
        }
