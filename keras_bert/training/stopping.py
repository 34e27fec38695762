"""Rules for the end of a run or an interval: steps, time, patience, SIGTERM."""

import contextlib
import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from absl import logging

from keras_bert.io.whole_files import write_json
from keras_bert.training.best import best_of
from keras_bert.training.callbacks import Callbacks
from keras_bert.training.distribution import has_workers, value_of_chief
from keras_bert.training.history import History
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.setup import TrainingSetup

# The status that a shell reports for a process ended by SIGTERM.
_STATUS = 128 + signal.SIGTERM


@dataclasses.dataclass(eq=False)
class StoppingRules:
    """Whether a run ends before its last step, and why.

    The time limit also counts the time of earlier, interrupted processes, which
    is read from the history.
    """

    setup: TrainingSetup
    folder: RunFolder
    callbacks: Callbacks
    history: History

    def __post_init__(self) -> None:
        minutes_before = self.history.last.get("minutes", 0.0)
        self._begin = time.monotonic() - 60 * minutes_before

    def run_is_over(self, step: int) -> bool:
        """Returns whether the run ends after a step.

        All workers must call this method.
        """
        is_early = bool(self._early_end(step))
        return step >= self.setup.num_train_steps or bool(
            value_of_chief(self.folder.strategy, int(is_early))
        )

    def interval_is_over(self, step: int) -> bool:
        """Returns whether a step is the last of an interval, or of the run."""
        if (
            step % self.setup.interval == 0
            or step >= self.setup.num_train_steps
        ):
            return True
        # A callback must not end the interval of one worker alone.
        stops = self.callbacks.stops and not has_workers(self.folder.strategy)
        return stops or self.share_of_time() >= 1

    def minutes(self) -> float:
        return (time.monotonic() - self._begin) / 60

    def share_of_time(self) -> float:
        """Returns the elapsed share of `max_train_time`; it may exceed 1."""
        limit = self.setup.config.max_train_time
        return self.minutes() / limit if limit else 0.0

    def note_early_end(self, step: int) -> None:
        """Logs why the run ended early.

        If a callback ended the run, also writes a file that says so.
        """
        why = self._early_end(step) or "another worker stopped it"
        logging.info(f"The run ended early: {why}.")
        if self.callbacks.stops and step and self.folder.is_written:
            write_json(self.folder.early_end(step), {"reason": why})

    def _early_end(self, step: int) -> str:
        """Returns the rule that ends the run after an interval, or ""."""
        if self.share_of_time() >= 1:
            return "max_train_time"
        # A callback does not know that it ended the run in an earlier process.
        if self.callbacks.stops or (
            self.callbacks and self.folder.early_end(step).is_file()
        ):
            return "a callback stopped it"
        return "the patience is over" if self._patience_is_over(step) else ""

    def _patience_is_over(self, step: int) -> bool:
        if not self.setup.selection or not self.folder.is_written:
            return False
        patience = self.setup.selection.patience * self.setup.interval
        return 0 < patience <= step - best_of(self.folder.best)["since"]


class Sigterm:
    """A context in which SIGTERM is noted and does not end the process.

    A scheduler sends SIGTERM before it takes the machine away.
    """

    def __init__(self) -> None:
        self.is_noted = False
        self._ends_process = False

    def __enter__(self) -> "Sigterm":
        # Python delivers signals to its main thread only.
        self._is_main = threading.current_thread() is threading.main_thread()
        if self._is_main:
            self._before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_main:
            signal.signal(signal.SIGTERM, self._before)

    @contextlib.contextmanager
    def ends_process(self) -> Iterator[None]:
        """Lets SIGTERM end the process at once in a `with` block.

        The block must be one whose work need not be saved.
        """
        self._ends_process = True
        try:
            yield
        finally:
            self._ends_process = False

    def exit_if_noted(self, step: int, is_saved: bool) -> None:
        if self.is_noted:
            saved = " and saved" if is_saved else ""
            logging.warning(
                f"Stopped by SIGTERM{saved} at step {step}; the same "
                "command continues from there."
            )
            sys.exit(_STATUS)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_noted = True
        if self._ends_process:
            sys.exit(_STATUS)
