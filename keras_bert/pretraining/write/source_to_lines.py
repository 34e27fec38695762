"""Files and data sets -> lines of text.

All readers yield one sentence a line, or any text if sentences are split
later, and a blank line after each document.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs, open_text
from keras_bert.io.paths import to_path

# About the size of a block, which is the reach of random next sentences.
_UNIT_SIZE = 4_000_000


@dataclasses.dataclass(frozen=True)
class TextSource:
    """Text of files, or of a data set of tensorflow-datasets.

    Example:
        >>> source = keras_bert.pretraining.TextSource("corpus.txt")
        >>> next(source.lines())
        'the fox jumped over a dog .'

    Attributes:
        input_file: Text files, plain or .gz, as comma-separated names or
            globs. By default they hold one sentence a line and a blank line
            between documents.
        document_per_file: Whether each file is one document, in which blank
            lines separate paragraphs.
        text_field: The field that holds a document, in a data set or in files
            of one JSON object a line.
        tfds_name: A data set to read instead of files, such as
            wikipedia/20230601.en.
        tfds_split: The split of the data set.
    """

    input_file: str = ""
    document_per_file: bool = False
    text_field: str = ""
    tfds_name: str = ""
    tfds_split: str = "train"

    def __post_init__(self):
        if bool(self.input_file) == bool(self.tfds_name):
            raise InputError(
                "Give either an input_file or a tfds_name to read text from."
            )
        if self.tfds_name and not self.text_field:
            raise InputError(
                f"Give the text_field of {self.tfds_name} that holds the text."
            )
        if self.document_per_file and self.text_field:
            raise InputError(
                "With a text_field each text is a document, and "
                "document_per_file is for files of plain text; give one of "
                "the two."
            )

    def lines(self) -> Iterator[str]:
        """Yields the lines of the text, with a blank line between documents."""
        return itertools.chain.from_iterable(read() for read in self.units())

    def units(self) -> list[Callable[[], Iterator[str]]]:
        """Returns a function for each unit of the text that yields its lines.

        A unit is a large file, several small ones, or a data set. Other
        processes can get these functions, and read the units at the same time.
        """
        part = functools.partial
        if self.tfds_name:
            return [
                part(
                    read_tfds, self.tfds_name, self.text_field, self.tfds_split
                )
            ]
        files = expand_globs(self.input_file)
        for file in files:
            if ".jsonl" in Path(file).suffixes and not self.text_field:
                raise InputError(
                    f"{file} is not plain text by its name; set text_field to "
                    "the field that holds the text."
                )
        units = group_files(files)
        if self.text_field:
            return [part(read_jsonl, unit, self.text_field) for unit in units]
        read = read_whole_files if self.document_per_file else read_lines
        return [part(read, unit) for unit in units]


def group_files(
    files: list[str], unit_size: int = _UNIT_SIZE
) -> list[list[str]]:
    """Groups neighbouring files into units of at least `unit_size` bytes.

    Random next sentences come from the same unit. The last unit has at least
    half of that size, unless it is the only one. Only the sizes of the files
    decide where a unit ends.
    """
    units: list[list[str]] = []
    size = unit_size
    for file in files:
        if size >= unit_size:
            units.append([])
            size = 0
        units[-1].append(file)
        size += to_path(file).stat().st_size
    if size < unit_size / 2 and len(units) > 1:
        rest = units.pop()
        units[-1] += rest
    return units


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
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(
                    f"{file}:{number} is not JSON ({error}); give one JSON "
                    "object a line."
                ) from error
            text = row.get(text_field) if isinstance(row, dict) else None
            if not isinstance(text, str):
                raise InputError(
                    f"{file}:{number} has no text under {text_field!r}; set "
                    "text_field to the field that holds the text."
                )
            yield text
            yield ""


def read_tfds(
    name: str, text_field: str, split: str = "train"
) -> Iterator[str]:
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
