"""Text files to read, here or on a store: globs of names, plain or .gz."""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from keras_bert.errors import InputError
from keras_bert.storage.paths import is_remote, to_path


def expand_globs(patterns: str) -> list[str]:
    """Returns the files of comma-separated names or globs, in order.

    Raises FileNotFoundError if a pattern matches no file.
    """
    files = []
    for pattern in patterns.split(","):
        matches = sorted(_matches(pattern.strip()))
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
    path = to_path(file)
    is_gzip = path.suffix == ".gz"
    try:
        with (
            path.open("rb") as opened,
            gzip.open(opened) if is_gzip else opened as content,
            io.TextIOWrapper(
                content, encoding="utf-8", errors=errors, newline=newline
            ) as lines,
        ):
            yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file} is not a whole gzip file ({error}); copy it again, or "
            "remove .gz from its name if it is plain text."
        ) from error


def _matches(pattern) -> Iterable[str]:
    path: Any = to_path(pattern)
    if is_remote(path):
        return map(path.fs.unstrip_protocol, path.fs.glob(path.path))
    return glob.glob(pattern, recursive=True)
