"""What happens at the end of each interval: figures, a checkpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import keras
import numpy as np

from keras_bert.errors import InputError
from keras_bert.training.run_files.checkpoint import CheckpointWriter
from keras_bert.training.run_files.history import History


class EndsIntervals(keras.callbacks.Callback):
    """Counts the steps of a run, logs and saves after each interval.

    An interval ends where the step is a multiple of `interval`, also the one
    in whose midst a run goes on, and at the last step.
    The speed is that of the training steps alone; `minutes` go on from the
    last row, and count evaluation and checkpoints too. The FLOP/s of the
    model are also given as a share of `matmul_speed`.

    A loss or a weight that is no number raises InputError, which names the
    step; no such weights are saved, and the last checkpoint stays as it is.
    """

    def __init__(
        self,
        step: int,
        num_train_steps: int,
        interval: int,
        matmul_speed: float,
        history: History,
        writer: CheckpointWriter | None,
        ends_run: Callable[[int], bool],
    ):
        """`writer` is None in a worker that writes no files.

        `ends_run` says of the number of an interval whether it is the last.
        """
        super().__init__()
        self.step = step
        self._num_train_steps = num_train_steps
        self._interval = interval
        self._matmul_speed = matmul_speed
        self._history = history
        self._writer = writer
        self._ends_run = ends_run
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
        self._check_loss("loss", logs["loss"])
        if self.ends_interval:
            self.check_weights()  # before they are evaluated, and the best
            self.model.stop_training = True  # the epoch; see on_epoch_end

    @property
    def ends_interval(self) -> bool:
        """Whether what comes after this step is evaluation and checkpoint."""
        return (
            self.step % self._interval == 0
            or self.step >= self._num_train_steps
        )

    def on_epoch_end(self, epoch, logs=None):
        self._check_loss("held-out loss", logs.get("val_loss", 0.0))
        self.model.stop_training = self._ends_run(epoch)
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

    def check_weights(self):
        """Refuses weights that are no numbers, or too large to multiply."""
        for weight in self.model.weights:
            array = weight.numpy()
            if not math.isfinite(np.vdot(array, array)):
                self._refuse(f"{weight.path} is not finite or too large")

    def _check_loss(self, name, loss):
        if not math.isfinite(loss):
            self._refuse(f"The {name} is {float(loss)}")

    def _refuse(self, what):
        raise InputError(
            f"{what} at step {self.step}; the last checkpoint is kept. Lower "
            "the learning rate or lengthen the warm-up."
        )
