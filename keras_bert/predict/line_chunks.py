"""Lines in chunks; after a kill, the next run skips those that are done."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.predict.request_lines import RequestLine, read_request_files


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Neighbouring lines; `digest` is a hash of all lines up to its end."""

    lines: list[RequestLine]
    digest: str


def cut_chunks(lines: Iterable[RequestLine], size: int) -> Iterator[Chunk]:
    """Yields chunks of `size` lines; the last one may be shorter."""
    hashed, lines = hashlib.blake2b(digest_size=16), iter(lines)
    while chunk := list(itertools.islice(lines, size)):
        for line in chunk:
            hashed.update(ascii(line).encode())
        yield Chunk(chunk, hashed.hexdigest())


def skip_chunks(
    chunks: Iterator[Chunk], output: ResumableFile, run: Mapping[str, Any]
) -> None:
    """Skips the chunks that are in the output already.

    `run` must be in the state of the output, beside the `digest` of the last
    chunk.

    Raises InputError if the output is of another run or of other lines.
    """
    state = output.state or {}
    if state == {**state, **run}:
        for chunk in chunks:
            if chunk.digest == state["digest"]:
                return
    raise InputError(
        f"{output.folder} holds results of another model or of other lines; "
        "delete it to begin anew, or choose another output file."
    )


def count_lines(files: Sequence[str], inputs: Sequence[str]) -> int | None:
    """Returns the number of lines, or None if it cannot be told beforehand."""
    # A pipe can be read only once.
    if not all(to_path(file).is_file() for file in files):
        return None
    return sum(1 for _ in read_request_files(files, inputs))
