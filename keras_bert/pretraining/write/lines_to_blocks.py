"""The lines of a unit -> documents -> blocks of neighbouring documents.

A worker gets one block at a time, and random next sentences come from the same
block. So the size of a block bounds the memory. Only the text of the unit
decides where a block ends.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keras_bert.errors import InputError

# 4 million characters are about 250 chapters of a novel or 1,500 encyclopedia
# articles to draw random next sentences from, and 1 million tokens.
_BLOCK_SIZE = 4_000_000
# A longer document is cut between two lines and counts as two, because text
# without blank lines would be one document of unlimited size. A longer line is
# cut at white space.
_MAX_DOCUMENT_SIZE = 1_000_000
# A unit has far fewer blocks. This is a prime, so that the first blocks of the
# units begin at different output files (see `RecordMaker.make_part`).
_NUMBERS_PER_UNIT = 1_000_000_007


class Block(NamedTuple):
    """Neighbouring documents, each one string of lines.

    `number` tells the block from all others, and seeds its records. `digest`
    is a hash of the unit's number and text up to the end of this block.
    """

    number: int
    documents: list[str]
    digest: str


def cut_blocks(
    lines: Iterable[str], unit: int = 0, *, block_size: int = _BLOCK_SIZE
) -> Iterator[Block]:
    """Yields the blocks of a unit, each of about `block_size` characters.

    The last block has between half of that and one and a half, unless the unit
    is shorter.
    """
    digest = str(unit)
    first = unit * _NUMBERS_PER_UNIT
    for number, documents in enumerate(_cut(lines, block_size), first):
        state = hashlib.blake2b(digest.encode(), digest_size=16)
        for document in documents:
            state.update(document.encode("utf-8", errors="replace") + b"\0")
        digest = state.hexdigest()
        yield Block(number, documents, digest)


def _cut(lines, block_size):
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


def _documents(lines, max_size):
    document, size = [], 0
    for line in _short_lines(lines):
        if not line or line.isspace():
            size = max_size  # ends the document
        else:
            document.append(line)
            size += len(line)
        if size >= max_size:
            if document:
                yield "\n".join(document)
            document, size = [], 0
    if document:
        yield "\n".join(document)


def _short_lines(lines):
    size = _MAX_DOCUMENT_SIZE
    # Cut before white space, or anywhere if there is none.
    pattern = re.compile(rf"(?s).{{1,{size}}}(?!\S)|.{{{size}}}")
    for line in lines:
        if not isinstance(line, str):
            raise InputError(f"A line of the text is {line!r}; give strings.")
        if len(line) <= size:
            yield line
        else:
            yield from pattern.findall(line)
