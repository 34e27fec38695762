"""SIGTERM: what a scheduler sends before it takes the machine away."""

from __future__ import annotations

import signal
import sys
import threading

import keras
from absl import logging

from keras_bert.training.intervals import EndsIntervals

# What a shell reports of a process that SIGTERM has ended.
STATUS = 128 + signal.SIGTERM


class StopsOnSignal(keras.callbacks.Callback):
    """After SIGTERM, saves the step that is under way, and leaves.

    Where that step ends an interval, evaluation and history come first.
    Listens inside a `with` statement, and has to come behind all callbacks
    that save something.
    """

    def __init__(self, intervals: EndsIntervals):
        super().__init__()
        self._intervals = intervals
        self._stops = False
        # Python hands signals to its main thread only.
        self._listens = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> StopsOnSignal:
        if self._listens:
            self._before = signal.signal(signal.SIGTERM, self._stop)
        return self

    def __exit__(self, kind, error, trace):
        if self._listens:
            signal.signal(signal.SIGTERM, self._before)
        if error is None:
            self._leave_if_told()  # after the last interval

    def on_train_batch_end(self, batch, logs=None):
        if self._stops and not self._intervals.ends_interval:
            self._intervals.check_weights()
            self._intervals.save()
            self._leave_if_told()

    def on_epoch_end(self, epoch, logs=None):
        self._leave_if_told()

    def _leave_if_told(self):
        if self._stops:
            logging.warning(
                "Stopped by SIGTERM%s at step %d; the same command goes on "
                "from the last checkpoint.",
                " and saved" if self._intervals.saves else "",
                self._intervals.step,
            )
            sys.exit(STATUS)

    def _stop(self, number, frame):
        self._stops = True
