"""Hides the log messages of the libraries that convert networks."""

from collections.abc import Iterator
from contextlib import contextmanager
from logging import getLogger


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Hides the messages of the loggers with these names, except for errors.

    TensorFlow's messages name a folder that is renamed soon afterwards, and the
    converters warn about steps that a user cannot change.
    """
    loggers = [getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel("ERROR")
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
