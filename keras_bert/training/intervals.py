"""What happens at the end of each interval: figures, a checkpoint."""

from __future__ import annotations

import math
import time

import keras

from keras_bert.training.checkpoint import CheckpointWriter
from keras_bert.training.history import History


class EndsIntervals(keras.callbacks.Callback):
    """Counts the steps of a run, logs and saves after each interval.

    Ends the run at its last step. A loss that is no number raises ValueError
    and names the step; the last checkpoint stays as it is.
    """

    def __init__(
        self,
        step: int,
        num_train_steps: int,
        batch_size: int,
        history: History,
        writer: CheckpointWriter | None,
    ):
        """`writer` is None in a worker that writes no files."""
        super().__init__()
        self.step = step
        self._num_train_steps = num_train_steps
        self._batch_size = batch_size
        self._history = history
        self._writer = writer

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
        begin, first_step = self._begin
        num_examples = (self.step - first_step) * self._batch_size
        row = {
            "step": self.step,
            **{name: float(value) for name, value in logs.items()},
            "learning_rate": float(self.model.optimizer.learning_rate),
            "examples_per_second": num_examples / (self._end - begin),
        }
        self._history.add(row, write=self._writer is not None)
        self.save()

    def save(self):
        """Saves the weights of this step, in the background."""
        if self._writer is not None:
            self._writer.save(self.step)
