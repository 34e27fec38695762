"""Loggers of the libraries that convert networks."""

from collections.abc import Iterator
from contextlib import contextmanager
from logging import getLogger


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Hides what these loggers say, except for errors.

    TensorFlow names a folder that soon has another name, and the converters
    warn about their own steps.
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
