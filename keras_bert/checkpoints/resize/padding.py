"""Pieces that fill up a vocabulary to a size that a device likes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def padding_pieces(vocab: Sequence[str], multiple: int) -> list[str]:
    """Returns pieces to add, so that the size is a multiple.

    They are named [unused0], [unused1] and so on, without the names in the
    vocabulary. No text has them: the tokenizer splits at brackets.
    """
    names = (f"[unused{i}]" for i in itertools.count())
    taken = set(vocab)
    free = (name for name in names if name not in taken)
    return list(itertools.islice(free, -len(vocab) % multiple))
