"""Short texts that differ if ids differ."""

from __future__ import annotations

import zlib
from collections.abc import Iterable


def digests(lines: Iterable[list[int]]) -> list[str]:
    """Returns a digest of the ids of each line, as a text."""
    return [f"{zlib.crc32(str(ids).encode()):x}" for ids in lines]
