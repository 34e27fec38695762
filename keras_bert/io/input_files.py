"""Text files to read, plain or gzip, on this machine or on a store."""

import contextlib
import glob
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path

_GZIP = b"\x1f\x8b"
_HEAD = 1024  # the number of bytes in which to look for null bytes


def expand_globs(patterns: str | Path) -> list[str]:
    """Returns the files that comma-separated names or globs match, in order.

    Raises FileNotFoundError if a pattern matches no file.
    """
    if not isinstance(patterns, (str, Path)):
        raise InputError(
            f"The files are {patterns!r}; give their names or globs in one "
            "comma-separated string."
        )
    files = []
    for pattern in str(patterns).split(","):
        matches = sorted(_matches(pattern.strip()))
        if not matches:
            raise FileNotFoundError(
                f"No file matches {pattern!r}; check the path."
            )
        files += matches
    return files


def check_is_no_input(output: str | Path, files: Iterable[str | Path]) -> None:
    """Raises InputError if a file to write is one of the files to read."""
    if _whole_path(output) in map(_whole_path, files):
        raise InputError(
            f"The output file {output} is also an input file and would be "
            "overwritten; give another name."
        )


@contextlib.contextmanager
def open_text(
    file: str | Path, *, errors: str, newline: str | None = None
) -> Iterator[TextIO]:
    """Yields an opened UTF-8 text file; see `open` for the other arguments.

    The file may be compressed by gzip, and may begin with a byte-order mark.
    Raises InputError if the file is damaged or not a text file.
    """
    path = to_path(file)
    try:
        with path.open("rb") as opened:
            content: Any = io.BufferedReader(opened)  # can peek into a pipe
            if path.suffix == ".gz" or content.peek(2).startswith(_GZIP):
                content = io.BufferedReader(gzip.open(content))
            if b"\0" in content.peek(_HEAD)[:_HEAD]:
                raise InputError(
                    f"{file} contains null bytes, so it is not UTF-8 text, but "
                    "perhaps UTF-16; save it as UTF-8."
                )
            with io.TextIOWrapper(
                content, encoding="utf-8-sig", errors=errors, newline=newline
            ) as lines:
                yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file} is not a complete gzip file ({error}); copy it again, or "
            "remove .gz from its name if it is plain text."
        ) from error
    except IsADirectoryError as error:
        raise InputError(
            f"{file} is a folder; give the files in it, such as {file}/*.txt."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not UTF-8 ({error}); save it as UTF-8."
        ) from error


def json_object(text: str) -> dict[str, Any] | None:
    """Returns the JSON object in a text; None for another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None  # a text that begins with a brace
    return values if isinstance(values, dict) else None


def begins_json(line: str) -> bool:
    """Returns whether a file's first line is an object or begins a list."""
    is_list = re.match(r'\s*\[\s*(\{\s*("|$)|$)', line)
    return bool(is_list) or json_object(line) is not None


def check_line_ends(lines: Iterable[str], file: str | Path) -> Iterator[str]:
    """Yields the lines of a file; raises InputError if they end with CR alone.

    Such a file, from an old system, would be read as one line.
    """
    for number, line in enumerate(lines):
        if not number and "\r" in line[:-1] and not line.endswith("\n"):
            raise InputError(
                f"The lines of {file or 'the input'} end with CR alone, so "
                "they would be read as one line; save the file with LF or CR "
                "LF."
            )
        yield line


def _whole_path(file: str | Path) -> Path:
    path = to_path(file)
    return path if is_remote(path) else path.resolve()


def _matches(pattern: str) -> Iterable[str]:
    path: Any = to_path(pattern)
    if is_remote(path):
        return map(path.fs.unstrip_protocol, path.fs.glob(path.path))
    if glob.has_magic(pattern) and path.exists():  # such as x[1].txt
        return [pattern]
    return glob.glob(pattern, recursive=True)
