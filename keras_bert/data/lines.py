"""Text files, plain or .gz, one line after the other."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterator


def expand_globs(patterns: str) -> list[str]:
    """Comma-separated names or globs -> the files, in order.

    Raises FileNotFoundError for a pattern that no file matches.
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


def read_lines(files: list[str]) -> Iterator[str]:
    """Yields the lines without their ends; a blank line between two files.

    Bytes that are not UTF-8 become U+FFFD, which the tokenizer leaves out.
    """
    for file in files:
        opener = gzip.open if file.endswith(".gz") else open
        with opener(file, "rt", encoding="utf-8", errors="replace") as lines:
            yield from (line.rstrip("\n") for line in lines)
        yield ""
