"""What happens at the end of each interval: figures, a checkpoint."""

from __future__ import annotations

import math
import time

import keras

from keras_bert.training.checkpoint import CheckpointWriter
from keras_bert.training.history import History


class EndsIntervals(keras.callbacks.Callback):
    """Counts the steps of a run, logs and saves after each interval.

    The speed is that of the training steps alone; `minutes` go on from the
    last row, and count evaluation and checkpoints too. The FLOP/s of the
    model are also given as a share of `matmul_speed`.

    Ends the run at its last step. A loss that is no number raises ValueError
    and names the step; the last checkpoint stays as it is.
    """

    def __init__(
        self,
        step: int,
        num_train_steps: int,
        matmul_speed: float,
        history: History,
        writer: CheckpointWriter | None,
    ):
        """`writer` is None in a worker that writes no files."""
        super().__init__()
        self.step = step
        self._num_train_steps = num_train_steps
        self._matmul_speed = matmul_speed
        self._history = history
        self._writer = writer
        self.saves = writer is not None

    def on_train_begin(self, logs=None):
        minutes_before = self._history.last.get("minutes", 0.0)
        self._train_begin = time.monotonic() - 60 * minutes_before

    def on_epoch_begin(self, epoch, logs=None):
        self._begin = time.monotonic(), self.step

    def on_train_batch_end(self, batch, logs=None):
        # `batch` is the last one of an execution of several steps.
        self.step = self._begin[1] + batch + 1
        self._end = time.monotonic()
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise ValueError(
                f"The loss is {loss} at step {self.step}; the last checkpoint "
                "is kept. Lower the learning rate or lengthen the warm-up."
            )
        if self.step >= self._num_train_steps:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        seconds = self._end - self._begin[0]
        speeds = {
            name: amount / seconds
            for name, amount in self.model.take_work().items()
        }
        row = {
            "step": self.step,
            **{name: float(value) for name, value in logs.items()},
            "learning_rate": float(self.model.optimizer.learning_rate),
            "minutes": (time.monotonic() - self._train_begin) / 60,
            **{f"{name}_per_second": speed for name, speed in speeds.items()},
            "utilization_of_matmul_speed": speeds["flops"] / self._matmul_speed,
        }
        self._history.add(row, write=self.saves)
        self.save()

    def save(self):
        """Saves the weights of this step, in the background."""
        if self.saves:
            self._writer.save(self.step)
