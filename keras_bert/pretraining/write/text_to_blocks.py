"""Text files -> lines -> documents -> blocks of neighboring documents.

A worker gets one block at a time, and random next sentences come from the same
block. So the size of a block bounds the memory. Each block lies in one unit: a
large file, or several small ones. How a unit is cut into blocks depends only on
the text of this unit.
"""

import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.csv_files import is_csv
from keras_bert.io.input_files import (
    begins_json,
    check_is_no_input,
    expand_globs,
    open_text,
)
from keras_bert.io.paths import to_path

# 4 million characters are about 1 million tokens. A block thus has 250 chapters
# of novels or 1,500 encyclopedia articles to draw random next sentences from.
_BLOCK_SIZE = 4_000_000
# In bytes; about the size of a block.
_UNIT_SIZE = 4_000_000
# In characters. A longer document is cut between two lines and counts as two,
# because text without blank lines would be one document of unlimited size. A
# longer line is cut at white space.
_MAX_DOCUMENT_SIZE = 1_000_000
# How many block numbers are reserved for each unit, which has far fewer blocks.
# The number is a prime, so that the first blocks of the units begin at
# different output files (see `RecordMaker.make_part`).
_NUMBERS_PER_UNIT = 1_000_000_007


@dataclasses.dataclass(frozen=True)
class TextSource:
    """The text of files, plain or compressed (.gz).

    Example:
        >>> source = keras_bert.pretraining.TextSource("corpus.txt")
        >>> next(source.lines())
        'the fox jumped over a dog .'

    Attributes:
        input_file: The text files, as comma-separated names or globs. By
            default they have one sentence per line and a blank line between
            documents.
        document_per_file: Whether each file is one document, in which blank
            lines separate paragraphs.
        text_field: The JSON field with the text of a document, if the files
            have one JSON object per line.
    """

    input_file: str = ""
    document_per_file: bool = False
    text_field: str = ""

    def __post_init__(self) -> None:
        if not self.input_file:
            raise InputError("Give an input_file to read text from.")
        if self.document_per_file and self.text_field:
            raise InputError(
                "With a text_field, each text is a document, and "
                "document_per_file is for plain text; give one of the two."
            )

    def lines(self) -> Iterator[str]:
        """Yields the lines of the text, with a blank line between documents.

        Bytes that are not valid UTF-8 become U+FFFD, which the tokenizer drops;
        the log says how many lines contain such bytes.
        """
        return itertools.chain.from_iterable(self.units())

    def check_is_not(self, output_file: str | Path) -> None:
        """Raises InputError if the output file is one of the input files."""
        check_is_no_input(output_file, expand_globs(self.input_file))

    def units(self) -> list[Iterator[str]]:
        """Returns the lines of each unit: a large file or some small files."""
        files = expand_globs(self.input_file)
        for file in filter(is_csv, files):
            raise InputError(
                f"{file} is a CSV file, whose columns would be read as text; "
                "write the texts as plain text or as JSON lines."
            )
        return [self._read(unit) for unit in group_files(files)]

    def _read(self, files: list[str]) -> Iterator[str]:
        for file in files:
            if self.text_field:
                yield from _read_json(file, self.text_field)
                continue
            lines = _not_json(_read_lines(file), file)
            if self.document_per_file:
                lines = _join_paragraphs(lines)
            yield from lines
            yield ""


def group_files(files: list[str]) -> list[list[str]]:
    """Returns units of neighboring files, of at least `_UNIT_SIZE` bytes.

    The last unit has at least half of that size, unless it is the only unit.
    """
    units: list[list[str]] = []
    size = _UNIT_SIZE
    for file in files:
        if size >= _UNIT_SIZE:
            units.append([])
            size = 0
        units[-1].append(file)
        size += to_path(file).stat().st_size
    if size < _UNIT_SIZE / 2 and len(units) > 1:
        rest = units.pop()
        units[-1] += rest
    return units


def _read_lines(file: str) -> Iterator[str]:
    num_broken = 0
    with open_text(file, errors="replace") as lines:
        for line in lines:
            num_broken += "\ufffd" in line
            yield line.rstrip("\n")
    if num_broken:
        logging.warning(
            "%d lines of %s have U+FFFD or bytes that are not UTF-8, which are "
            "left out; if the text has another encoding, save it as UTF-8.",
            num_broken,
            file,
        )


def _not_json(lines: Iterable[str], file: str) -> Iterator[str]:
    """Yields lines; raises InputError if the first of them is JSON."""
    for number, line in enumerate(lines):
        if not number and begins_json(line):
            raise InputError(
                f"{file} contains JSON, not plain text; give one JSON object "
                "per line, and set text_field to the field with the text."
            )
        yield line


def _join_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Yields lines without blank lines, which would end the document.

    A line after a blank line begins with a line break instead.
    """
    before = ""
    for line in lines:
        if not line or line.isspace():
            before = "\n"
        else:
            yield before + line
            before = ""


def _read_json(file: str, text_field: str) -> Iterator[str]:
    for number, line in enumerate(_read_lines(file), 1):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{file}:{number} is not JSON ({error}); give one JSON object "
                "per line."
            ) from error
        text = row.get(text_field) if isinstance(row, dict) else None
        if not isinstance(text, str):
            raise InputError(
                f"{file}:{number} has no text under {text_field!r}; set "
                "text_field to the field with the text."
            )
        yield text
        yield ""


class Block(NamedTuple):
    """Neighboring documents, each one string of lines.

    `number` identifies the block, and seeds its records. `digest` is a hash of
    the unit's index and of the unit's text up to the end of this block.
    """

    number: int
    documents: list[str]
    digest: str


def cut_blocks(
    lines: Iterable[str], unit: int = 0, *, block_size: int = _BLOCK_SIZE
) -> Iterator[Block]:
    """Yields the blocks of a unit, each of about `block_size` characters.

    The last block has between half of that size and one and a half times that
    size, unless the unit is shorter.
    """
    digest = str(unit)
    first = unit * _NUMBERS_PER_UNIT
    for number, documents in enumerate(_cut(lines, block_size), first):
        state = hashlib.blake2b(digest.encode(), digest_size=16)
        for document in documents:
            state.update(document.encode("utf-8", errors="replace") + b"\0")
        digest = state.hexdigest()
        yield Block(number, documents, digest)


def _cut(lines: Iterable[str], block_size: int) -> Iterator[list[str]]:
    block, size = [], 0
    for document in _documents(lines, min(_MAX_DOCUMENT_SIZE, block_size // 4)):
        block.append(document)
        size += len(document)
        if size >= block_size * 3 / 2:
            end = first = 0
            while first < block_size:
                first += len(block[end])
                end += 1
            yield block[:end]
            block, size = block[end:], size - first
    if block:
        yield block


def _documents(lines: Iterable[str], max_size: int) -> Iterator[str]:
    document, size = [], 0
    for line in itertools.chain(_short_lines(lines), [""]):
        if not line or line.isspace():
            size = max_size  # ends the document
        else:
            document.append(line)
            size += len(line)
        if size >= max_size:
            if document:
                yield "\n".join(document)
            document, size = [], 0


def _short_lines(lines: Iterable[str]) -> Iterator[str]:
    size = _MAX_DOCUMENT_SIZE
    # Cut before white space, or anywhere if there is none.
    pattern = re.compile(rf"(?s).{{1,{size}}}(?!\S)|.{{{size}}}")
    for line in lines:
        if not isinstance(line, str):
            raise InputError(f"A line of the text is {line!r}; give strings.")
        # The lines of an open file end with a line break.
        line = line.rstrip("\r\n")
        if len(line) <= size:
            yield line
        else:
            yield from pattern.findall(line)
