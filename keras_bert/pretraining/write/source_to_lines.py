"""Text from files and data sets, one line after the other.

All yield the same form: a sentence (or, where sentences are split later, a
stretch of text) a line, and a blank line behind each document.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import json
import zlib
from collections.abc import Iterator

from keras_bert.errors import InputError


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

    Files may be .gz. Bytes that are not UTF-8 become U+FFFD, which the
    tokenizer leaves out.
    """
    for file in files:
        with _open(file) as lines:
            yield from (line.rstrip("\n") for line in lines)
        yield ""


def read_whole_files(files: list[str]) -> Iterator[str]:
    """Each file is one document; its blank lines are between paragraphs."""
    for file in files:
        before = ""
        with _open(file) as lines:
            for line in lines:
                if line.isspace():
                    # A blank line that ends no document: it comes within the
                    # next one.
                    before = "\n"
                else:
                    yield before + line.rstrip("\n")
                    before = ""
        yield ""


def read_jsonl(files: list[str], text_field: str) -> Iterator[str]:
    """Each line is a JSON object whose `text_field` is one document."""
    for file in files:
        with _open(file) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _text_of(line, text_field, f"{file}:{number}")
                    yield ""


def read_tfds(name: str, text_field: str, split: str = "train"):
    """Each example's `text_field` is one document.

    `name` is as in tensorflow-datasets, such as "wikipedia/20230601.en"; the
    data set is downloaded and prepared where it is not yet.
    """
    import tensorflow_datasets as tfds

    try:
        dataset = tfds.load(name, split=split)
    except (ValueError, tfds.core.registered.DatasetNotFoundError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"tensorflow-datasets cannot load {name!r}, split {split!r}: "
            f"{reason}"
        ) from error
    fields = dataset.element_spec
    if text_field not in fields:
        raise InputError(
            f"{name} has no field {text_field!r}, only {', '.join(fields)}; "
            "set text_field to one of them."
        )
    for example in tfds.as_numpy(dataset.map(lambda x: x[text_field])):
        yield example.decode("utf-8", errors="replace")
        yield ""


@contextlib.contextmanager
def _open(file):
    opener = gzip.open if str(file).endswith(".gz") else open
    try:
        with opener(file, "rt", encoding="utf-8", errors="replace") as lines:
            yield lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file} is not a whole gzip file ({error}); copy it anew, or "
            "take the .gz off its name where it is plain text."
        ) from error


def _text_of(line, field, place):
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{place} is no JSON ({error}); give one JSON object a line."
        ) from error
    if not isinstance(row, dict) or not isinstance(row.get(field), str):
        raise InputError(
            f"{place} has no text under {field!r}; set text_field to the "
            "field that holds the text."
        )
    return row[field]
