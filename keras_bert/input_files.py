"""Text files to read: their names may be globs, and they may be .gz."""

from __future__ import annotations

import contextlib
import glob
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from keras_bert.errors import InputError


def expand_globs(patterns: str) -> list[str]:
    """Returns the files of comma-separated names or globs, in order.

    Raises FileNotFoundError if a pattern matches no file.
    """
    files = []
    for pattern in patterns.split(","):
        matches = sorted(glob.glob(pattern.strip(), recursive=True))
        if not matches:
            raise FileNotFoundError(
                f"No file matches {pattern!r}; check the path."
            )
        files += matches
    return files


@contextlib.contextmanager
def open_text(
    file: str | Path, *, errors: str, newline: str | None = None
) -> Iterator[TextIO]:
    """Opens a plain or .gz file of UTF-8; see `open` for the other arguments.

    Raises InputError if a .gz file is damaged.
    """
    opener = gzip.open if str(file).endswith(".gz") else open
    try:
        with opener(
            file, "rt", encoding="utf-8", errors=errors, newline=newline
        ) as lines:
            yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file} is not a whole gzip file ({error}); copy it again, or "
            "remove .gz from its name if it is plain text."
        ) from error
