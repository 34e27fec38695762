"""The log of a run, shown also if the program has not set up logging."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from logging import BASIC_FORMAT
from pathlib import Path

from absl import flags
from absl.logging import PythonFormatter
from tqdm import tqdm


@contextlib.contextmanager
def shown_log() -> Iterator[None]:
    """Shows what this package logs, also what only informs.

    Use it in a `with` statement or as a decorator. By default, absl shows only
    warnings. If the program has set up logging, this leaves it alone. If not,
    it writes the lines to standard error, until the block ends.
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


def _is_set_up(logger):
    return (
        not flags.FLAGS["verbosity"].using_default_value
        or logger.level != logging.NOTSET
        or logger.handlers
        or logging.root.level != logging.WARNING
        or not all(map(_is_automatic, logging.root.handlers))
    )


def _is_automatic(handler):
    """Whether a handler is the one that the first line of a log adds."""
    format = getattr(handler.formatter, "_fmt", None)
    return type(handler) is logging.StreamHandler and format == BASIC_FORMAT


class _BesideBars(logging.Handler):
    """Writes lines to standard error, above the progress bars."""

    def __init__(self):
        super().__init__()
        self.setFormatter(PythonFormatter())
        self.addFilter(_is_ours_or_a_warning)

    def emit(self, record):
        tqdm.write(self.format(record), file=sys.stderr)


def _is_ours_or_a_warning(record):
    package = Path(__file__).parent
    return (
        record.levelno > logging.INFO
        or package in Path(record.pathname).parents
    )
