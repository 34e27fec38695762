"""Files and data sets -> lines of text.

All readers yield one sentence a line, or any text if sentences are split
later, and a blank line after each document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.input_files import open_text


def read_lines(files: list[str]) -> Iterator[str]:
    """Yields the lines without line breaks, and a blank line after each file.

    Files may be compressed. Bytes that are not UTF-8 become U+FFFD, which the
    tokenizer drops; the log counts their lines.
    """
    for file in files:
        yield from (line.rstrip("\n") for line in _lines(file))
        yield ""


def read_whole_files(files: list[str]) -> Iterator[str]:
    """Yields each file as one document; blank lines separate paragraphs."""
    for file in files:
        before = ""
        for line in _lines(file):
            if line.isspace():
                # A line of its own would end the document, so it goes into
                # the next line.
                before = "\n"
            else:
                yield before + line.rstrip("\n")
                before = ""
        yield ""


def read_jsonl(files: list[str], text_field: str) -> Iterator[str]:
    """Yields the `text_field` of each line, a JSON object, as one document."""
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            if line.strip():
                yield _text_of(line, text_field, f"{file}:{number}")
                yield ""


def read_tfds(name: str, text_field: str, split: str = "train"):
    """Yields the `text_field` of each example as one document.

    `name` is the name in tensorflow-datasets, such as "wikipedia/20230601.en".
    The data set is downloaded and prepared if needed.
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


def _lines(file):
    num_broken = 0
    with open_text(file, errors="replace") as lines:
        for line in lines:
            num_broken += "\ufffd" in line
            yield line
    if num_broken:
        logging.warning(
            "%d lines of %s have bytes that are not UTF-8, which are left out; "
            "if the text has another encoding, save it as UTF-8.",
            num_broken,
            file,
        )


def _text_of(line, field, place):
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{place} is not JSON ({error}); give one JSON object a line."
        ) from error
    if not isinstance(row, dict) or not isinstance(row.get(field), str):
        raise InputError(
            f"{place} has no text under {field!r}; set text_field to the "
            "field that holds the text."
        )
    return row[field]
