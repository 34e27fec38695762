"""The progress of a long task: a bar where one can be drawn, else log lines."""

import contextlib
import dataclasses
import logging
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from logging import BASIC_FORMAT
from pathlib import Path
from typing import Self

from absl import flags
from absl import logging as absl_logging
from absl.logging import PythonFormatter

with warnings.catch_warnings():
    # In a notebook without ipywidgets, the bar is text, and that is enough.
    warnings.simplefilter("ignore")
    from tqdm.auto import tqdm

# The least time between two lines in the log, in seconds.
_INTERVAL = 30


@dataclasses.dataclass(eq=False)
class Progress:
    """Shows the progress of a task; use it in a `with` statement.

    On a terminal and in a notebook, it draws a tqdm bar. Elsewhere, `update`
    writes a line to the log if the last line is at least 30 seconds old. The
    line contains the units done, the speed, the time left, and the figures that
    `update` was given.

    Args:
        description: The name of the task, such as "Training".
        total: The number of units, or None if it is not known.
        unit: The unit in the plural, such as "steps".
        initial: The number of units that an earlier run has done.
        bar: Whether a bar is allowed. Without a bar, a terminal shows the log
            lines, which do not disturb other output.
    """

    description: str
    total: int | None = None
    unit: str = "steps"
    initial: int = 0
    bar: bool = True

    def __post_init__(self) -> None:
        self._done = self.initial
        in_notebook = type(sys.stderr).__module__ == "ipykernel.iostream"
        can_draw = in_notebook or sys.stderr.isatty()
        self._bar = tqdm(
            total=self.total,
            initial=self.initial,
            desc=self.description,
            unit=f" {self.unit}",
            unit_scale=not self.total or self.total > 100_000,
            disable=not (self.bar and can_draw),
        )
        # An inner bar, such as an evaluation's, disappears at its end.
        self._bar.leave = not self._bar.pos
        self._open = contextlib.ExitStack()
        self._last_line = time.monotonic()
        # The time of the first update, and the units done by then. The speed
        # is measured from then on, because graphs are traced before.
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> Self:
        self._open.enter_context(shown_log())
        self._open.callback(self._bar.close)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def update(self, num_done: int, **figures: float) -> None:
        """Counts `num_done` more units, and shows the `figures` with them."""
        self._done += num_done
        shown = {name: f"{value:.4g}" for name, value in figures.items()}
        if shown:
            self._bar.set_postfix(shown, refresh=False)
        self._bar.update(num_done)
        now = time.monotonic()
        if self._first is None:
            self._first = now, self._done
        start, done = self._first
        if self._bar.disable and now - self._last_line >= _INTERVAL:
            self._last_line = now
            speed = (self._done - done) / (now - start) if now > start else 0
            absl_logging.info("%s", self._line(speed, shown))

    def _line(self, speed: float, shown: Mapping[str, str]) -> str:
        total = f" of {self.total:,}" if self.total else ""
        parts = [f"{self.description}: {self._done:,}{total} {self.unit}"]
        parts += [f"{name} {value}" for name, value in shown.items()]
        if speed:
            parts.append(f"{speed:,.3g} {self.unit}/s")
        if self.total and speed:
            left = (self.total - self._done) / speed
            parts.append(f"{tqdm.format_interval(left)} left")
        return ", ".join(parts)


@contextlib.contextmanager
def shown_log() -> Iterator[None]:
    """Shows this package's log messages, including those of level INFO.

    Use it in a `with` statement or as a decorator. By default, absl shows only
    warnings. If the program has set up logging itself, nothing changes. If not,
    the lines go to standard error until the block ends.
    """
    logger = logging.getLogger("absl")
    if _is_set_up(logger):
        yield
        return
    handler = _BesideBars()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # the root may show the line too
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def _is_set_up(logger: logging.Logger) -> bool:
    return bool(
        not flags.FLAGS["verbosity"].using_default_value
        or logger.level != logging.NOTSET
        or logger.handlers
        or logging.root.level != logging.WARNING
        # `logging` itself adds such a handler when it logs its first line.
        or not all(
            type(handler) is logging.StreamHandler
            and getattr(handler.formatter, "_fmt", None) == BASIC_FORMAT
            for handler in logging.root.handlers
        )
    )


class _BesideBars(logging.Handler):
    """Writes lines to standard error, above the progress bars."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(PythonFormatter())

    def filter(self, record: logging.LogRecord) -> bool:
        is_ours = Path(__file__).parent in Path(record.pathname).parents
        return is_ours or record.levelno > logging.INFO

    def emit(self, record: logging.LogRecord) -> None:
        tqdm.write(self.format(record), file=sys.stderr)
