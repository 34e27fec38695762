"""SIGTERM, which a scheduler sends before it takes the machine away."""

from __future__ import annotations

import signal
import threading

# The status that a shell reports for a process ended by SIGTERM.
STATUS = 128 + signal.SIGTERM


class TerminationSignal:
    """Notes SIGTERM inside a `with` statement, instead of ending the process.

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
