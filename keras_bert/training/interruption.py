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

    Listens inside a `with` statement.
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

    def on_train_batch_end(self, batch, logs=None):
        if self._stops:
            self._intervals.save()
            logging.warning(
                "Stopped by SIGTERM%s at step %d; the same command goes on "
                "from the last checkpoint.",
                " and saved" if self._intervals.saves else "",
                self._intervals.step,
            )
            sys.exit(STATUS)

    def _stop(self, number, frame):
        self._stops = True
