"""What ends a run from outside: SIGTERM, and workers that are lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import tensorflow as tf
from absl import logging

# The status that a shell reports for a process ended by SIGTERM.
STATUS = 128 + signal.SIGTERM


class TerminationSignal:
    """Notes SIGTERM inside a `with` statement, instead of ending the process.

    A scheduler sends it before it takes the machine away.

    Attributes:
        is_set: Whether SIGTERM has come.
    """

    def __init__(self):
        self.is_set = False
        # Python delivers signals to its main thread only.
        self._listens = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> TerminationSignal:
        if self._listens:
            self._before = signal.signal(signal.SIGTERM, self._set)
        return self

    def __exit__(self, kind, error, trace):
        if self._listens:
            signal.signal(signal.SIGTERM, self._before)

    def _set(self, number, frame):
        self.is_set = True


@contextlib.contextmanager
def ends_without_workers(seconds: int) -> Iterator[None]:
    """Ends the process if the block waits longer for the other workers.

    Ends it by a signal, SIGALRM: TensorFlow waits without letting Python run,
    and it ignores SIGTERM.
    """
    logging.info("Waiting at most %d seconds for the other workers", seconds)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def lost_worker_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Raises ConnectionError with one sentence if another worker is lost.

    TensorFlow notices within seconds, also if the worker merely hangs.
    """
    try:
        yield
    except (
        tf.errors.AbortedError,
        tf.errors.DeadlineExceededError,
        tf.errors.UnavailableError,
    ) as error:
        if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            raise
        raise ConnectionError(
            "Another worker has ended or cannot be reached; start all workers "
            "with the same commands again, and they resume from the last "
            f"checkpoint. TensorFlow says: {error.message.splitlines()[0]}"
        ) from error
