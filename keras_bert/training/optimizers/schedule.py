"""BERT's learning rate (google-research/bert, optimization.py)."""

from __future__ import annotations

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay to 0 at the last step.

    Called with the number of updates made before. The rate falls as (1 - share
    of the steps) to `power`: linearly, or with 0.5 as in NVIDIA's LAMB. The
    decay counts from the first step, not from the end of the warm-up, so the
    rate drops a little there: a quirk of google-research/bert, kept.
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
        # The reference's first update is its step 1: its step is increased
        # beside the update, and read after that (golden/tf1_small).
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
