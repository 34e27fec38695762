"""A run in progress: the loop over steps, and what happens between them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.progress import Progress
from keras_bert.training.interruption import STATUS, TerminationSignal
from keras_bert.training.run_files.checkpoint import CheckpointWriter
from keras_bert.training.run_files.history import History
from keras_bert.training.run_files.summary import held_out_figures
from keras_bert.training.steps import Figures, Steps

# A run has at least this number of rows of training figures.
_NUM_ROWS = 100


class Run:
    """Takes the steps of a run, records figures and ends the intervals.

    An interval ends at every multiple of `interval` and at the last step: the
    history is written, a checkpoint saved, and then the model evaluated. So a
    process that is killed in an evaluation loses nothing but this evaluation,
    with which the resumed run begins. A row of the history holds means over
    the steps since the row before.

    The host waits for the device only when a row is due. A loss or a weight
    that is not finite then raises InputError, which names the step. Weights
    that are not finite are not saved, and the last checkpoint stays.

    Speeds are those of the training steps alone. `minutes` continue from the
    last row and include evaluation and checkpoints. The FLOP/s of the model
    are also given as a share of `matmul_speed`.
    """

    def __init__(
        self,
        steps: Steps,
        history: History,
        writer: CheckpointWriter | None,
        *,
        step: int,
        num_train_steps: int,
        interval: int,
        matmul_speed: float,
        evaluate: Callable[[int], Mapping[str, float]] | None,
        ends_run: Callable[[int], bool] | None,
        progress: Progress,
    ):
        """`writer` is None in a worker that writes no files.

        `evaluate` takes the step and returns held-out figures. `ends_run`
        takes the step and returns whether the run ends early.
        """
        self.step = step
        self._steps = steps
        self._history = history
        self._writer = writer
        self._num_train_steps = num_train_steps
        self._interval = interval
        self._row_interval = max(1, num_train_steps // _NUM_ROWS)
        self._matmul_speed = matmul_speed
        self._evaluate = evaluate
        self._ends_run = ends_run
        self._progress = progress
        minutes_before = history.last.get("minutes", 0.0)
        self._begin = time.monotonic() - 60 * minutes_before
        self._row_begin = step
        self._shown: dict[str, float] = {}

    def train(self, batches: Iterable, *, evaluates_first: bool) -> None:
        """Takes the steps that are left.

        After SIGTERM, saves the current step and exits with status 143.
        """
        with TerminationSignal() as terminated:
            self._terminated = terminated
            if evaluates_first:
                self._end_interval()
                if self._is_over():
                    return
            iterator = iter(batches)
            self._train_interval(iterator)
            while not self._is_over():
                self._train_interval(iterator)

    def _is_over(self):
        """Whether this step is the last one; all workers must call this."""
        is_early = self._ends_run is not None and self._ends_run(self.step)
        if is_early and self.step < self._num_train_steps:
            logging.info("Stopping early: the score has not risen any more.")
        return is_early or self.step >= self._num_train_steps

    def _train_interval(self, batches):
        begin = time.monotonic()
        is_over = False
        while not is_over:
            figures = self._steps.train(batches)
            self.step += self._steps.steps_per_execution
            is_over = self._ends_interval or self._terminated.is_set
            if is_over or self._ends_row:
                self._add_row(figures)  # waits for the device
            self._progress.update(
                self._steps.steps_per_execution, **self._shown
            )
        speeds = self._speeds(time.monotonic() - begin)
        self._check_weights()
        self._add_to_row(speeds)
        if self._writer:
            self._history.write_table()
            self._writer.save(self.step)
        self._exit_if_terminated()
        self._end_interval()

    @property
    def _ends_interval(self):
        return (
            self.step % self._interval == 0
            or self.step >= self._num_train_steps
        )

    @property
    def _ends_row(self):
        before = self.step - self._steps.steps_per_execution
        return self.step // self._row_interval > before // self._row_interval

    def _add_row(self, figures: Figures):
        """Adds the figures of the steps since the row before."""
        if ruined_step := self._steps.ruined_step:
            self._refuse(
                "The loss is not finite", self._row_begin + ruined_step
            )
        self._steps.reset_figures()
        self._row_begin = self.step
        row = {name: float(value) for name, value in figures.items()}
        self._history.add({"step": self.step} | row)
        self._shown = {"loss": row["loss"]}

    def _add_to_row(self, figures):
        minutes = (time.monotonic() - self._begin) / 60
        self._history.add({"step": self.step, **figures, "minutes": minutes})

    def _speeds(self, seconds):
        work = self._steps.take_work()
        speeds = {f"{name}_per_second": x / seconds for name, x in work.items()}
        return speeds | {
            "utilization_of_matmul_speed": speeds["flops_per_second"]
            / self._matmul_speed
        }

    def _check_weights(self):
        for weight in self._steps.network.weights:
            array = weight.numpy()
            if not math.isfinite(np.vdot(array, array)):
                self._refuse(
                    f"{weight.path} is not finite or too large", self.step
                )

    def _end_interval(self):
        """Evaluates the model and writes the files of the history.

        Also completes an interval that was interrupted, and gives the figures
        of the initial weights at step 0.
        """
        figures = self._evaluate(self.step) if self._evaluate else {}
        if not math.isfinite(figures.get("loss", 0.0)):
            self._refuse("The held-out loss is not finite", self.step)
        row = {f"val_{name}": float(x) for name, x in figures.items()}
        self._add_to_row(row)
        if self._writer:
            self._history.write()
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
        self._exit_if_terminated()

    def _exit_if_terminated(self):
        if self._terminated.is_set:
            logging.warning(
                "Stopped by SIGTERM%s at step %d; the same command resumes "
                "from the last checkpoint.",
                " and saved" if self._writer else "",
                self.step,
            )
            sys.exit(STATUS)

    def _refuse(self, what, step):
        raise InputError(
            f"{what} at step {step}; the last checkpoint is kept. Lower the "
            "learning rate or lengthen the warm-up."
        )
