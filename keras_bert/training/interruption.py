"""SIGTERM, which a scheduler sends before it takes the machine away."""

from __future__ import annotations

import signal
import sys
import threading

import keras
from absl import logging

from keras_bert.training.intervals import EndsIntervals

# The status that a shell reports for a process ended by SIGTERM.
STATUS = 128 + signal.SIGTERM


class StopsOnSignal(keras.callbacks.Callback):
    """After SIGTERM, saves the current step and exits.

    Does not wait for the evaluation at the end of an interval: the resumed
    run begins with it. Listens inside a `with` statement. Must be the last
    callback.
    """

    def __init__(self, intervals: EndsIntervals):
        super().__init__()
        self._intervals = intervals
        self._stops = False
        # Python delivers signals to its main thread only.
        self._listens = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> StopsOnSignal:
        if self._listens:
            self._before = signal.signal(signal.SIGTERM, self._stop)
        return self

    def __exit__(self, kind, error, trace):
        if self._listens:
            signal.signal(signal.SIGTERM, self._before)
        if error is None:
            self._exit_if_told()  # after the last interval

    def on_train_batch_end(self, batch, logs=None):
        if self._stops:
            self._intervals.interrupt(logs)
            self._exit_if_told()

    def on_epoch_end(self, epoch, logs=None):
        self._exit_if_told()

    def _exit_if_told(self):
        if self._stops:
            logging.warning(
                "Stopped by SIGTERM%s at step %d; the same command resumes "
                "from the last checkpoint.",
                " and saved" if self._intervals.saves else "",
                self._intervals.step,
            )
            sys.exit(STATUS)

    def _stop(self, number, frame):
        self._stops = True
