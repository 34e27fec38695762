"""Rows of figures during a run; evaluation and checkpoint after an interval."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import keras
import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.progress import Progress
from keras_bert.training.run_files.checkpoint import CheckpointWriter
from keras_bert.training.run_files.history import History
from keras_bert.training.run_files.summary import held_out_figures

# So many rows of training figures are taken in a run, at least.
_NUM_ROWS = 100


class EndsIntervals(keras.callbacks.Callback):
    """Counts the steps of a run, records figures and ends the intervals.

    An interval ends at every multiple of `interval` and at the last step: the
    model is evaluated, the history is written and a checkpoint saved. A row
    of the history holds means over the steps since the row before.

    Speeds are those of the training steps alone. `minutes` continue from the
    last row and include evaluation and checkpoints. The FLOP/s of the model
    are also given as a share of `matmul_speed`.

    A loss or a weight that is not finite raises InputError, which names the
    step. Such weights are not saved, and the last checkpoint stays.
    """

    def __init__(
        self,
        step: int,
        num_train_steps: int,
        interval: int,
        *,
        matmul_speed: float,
        history: History,
        writer: CheckpointWriter | None,
        evaluate: Callable[[keras.Model, int], Mapping[str, float]] | None,
        ends_run: Callable[[int], bool] | None,
        progress: Progress,
    ):
        """`writer` is None in a worker that writes no files.

        `evaluate` takes the model and the step and returns held-out figures.
        `ends_run` takes the step and returns whether the run ends early.
        """
        super().__init__()
        self.step = step
        self.saves = writer is not None
        self._num_train_steps = num_train_steps
        self._interval = interval
        self._row_interval = max(1, num_train_steps // _NUM_ROWS)
        self._matmul_speed = matmul_speed
        self._history = history
        self._writer = writer
        self._evaluate = evaluate
        self._ends_run = ends_run
        self._progress = progress
        minutes_before = history.last.get("minutes", 0.0)
        self._run_begin = time.monotonic() - 60 * minutes_before

    @property
    def ends_interval(self) -> bool:
        """Whether the current step is the last one of an interval."""
        return (
            self.step % self._interval == 0
            or self.step >= self._num_train_steps
        )

    def ends_run(self) -> bool:
        """Returns whether this step is the last one; all workers must call."""
        is_early = self._ends_run is not None and self._ends_run(self.step)
        if is_early and self.step < self._num_train_steps:
            logging.info("Stopping early: the score has not risen any more.")
        return is_early or self.step >= self._num_train_steps

    def on_epoch_begin(self, epoch, logs=None):
        self._begin = time.monotonic(), self.step

    def on_train_batch_end(self, batch, logs=None):
        before = self.step
        # `batch` is the last one of an execution of several steps.
        self.step = self._begin[1] + batch + 1
        self._end = time.monotonic()
        loss = float(logs["loss"])
        self._check_loss("loss", loss)
        self._progress.update(self.step - before, loss=loss)
        if self.ends_interval:
            self.check_weights()  # before they are evaluated and kept as best
            self.model.stop_training = True  # ends the epoch of Keras
        elif self.step // self._row_interval > before // self._row_interval:
            self._history.add(self._row(logs))
            self.model.reset_metrics()

    def on_epoch_end(self, epoch, logs=None):
        seconds = self._end - self._begin[0]
        speeds = {
            name: amount / seconds
            for name, amount in self.model.take_work().items()
        }
        self._history.add(
            self._row(logs)
            | {f"{name}_per_second": x for name, x in speeds.items()}
            | {
                "utilization_of_matmul_speed": speeds["flops"]
                / self._matmul_speed
            }
        )
        self.evaluate()
        self.save()
        self.model.stop_training = self.ends_run()

    def evaluate(self) -> None:
        """Adds held-out figures to the row of this step and writes the files.

        Also completes an interval that SIGTERM interrupted, and gives the
        figures of the initial weights at step 0.
        """
        figures = (
            self._evaluate(self.model, self.step) if self._evaluate else {}
        )
        self._check_loss("held-out loss", figures.get("loss", 0.0))
        row = {f"val_{name}": float(x) for name, x in figures.items()}
        self._add_last_row({"step": self.step} | row)
        parts = []
        if "loss" in self._history.last:
            parts.append(f"training loss {self._history.last['loss']:.4g}")
        if row:
            parts.append(f"held out: {held_out_figures(row)}")
        logging.info(
            "Step %d of %d: %s",
            self.step,
            self._num_train_steps,
            "; ".join(parts),
        )

    def interrupt(self, logs: Mapping[str, float]) -> None:
        """Saves the current step, without its evaluation."""
        self.check_weights()
        self._add_last_row(self._row(logs))
        self.save()

    def save(self) -> None:
        """Saves the weights of this step, in the background."""
        if self._writer:
            self._writer.save(self.step)

    def check_weights(self) -> None:
        """Raises InputError if a weight is not finite or too large."""
        for weight in self.model.weights:
            array = weight.numpy()
            if not math.isfinite(np.vdot(array, array)):
                self._refuse(f"{weight.path} is not finite or too large")

    def _row(self, logs):
        return {
            "step": self.step,
            **{name: float(value) for name, value in logs.items()},
            "learning_rate": float(self.model.optimizer.learning_rate),
        }

    def _add_last_row(self, row):
        minutes = (time.monotonic() - self._run_begin) / 60
        self._history.add(row | {"minutes": minutes})
        if self.saves:
            self._history.write()

    def _check_loss(self, name, loss):
        if not math.isfinite(loss):
            self._refuse(f"The {name} is {float(loss)}")

    def _refuse(self, what):
        raise InputError(
            f"{what} at step {self.step}; the last checkpoint is kept. Lower "
            "the learning rate or lengthen the warm-up."
        )
