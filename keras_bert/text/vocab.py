"""vocab.txt: one word piece a line, its id the number of the line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keras_bert.errors import InputError


class SpecialTokens(NamedTuple):
    """The pieces that stand for no text, as a vocabulary spells them."""

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"


# Of every released vocabulary.
SPECIAL_TOKENS = SpecialTokens()


def load_vocab(
    path: str | Path, special_tokens: SpecialTokens = SPECIAL_TOKENS
) -> list[str]:
    """Reads a vocabulary; the special tokens must be in it."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"No vocabulary at {path}; give the vocab.txt of the checkpoint, "
            "or learn one with run_scripts/build_vocab.py."
        )
    # Only LF ends a line: a released vocabulary has a U+2028 as a piece.
    text = path.read_bytes().decode("utf-8").removesuffix("\n")
    vocab = [line.removesuffix("\r") for line in text.split("\n")]
    missing = [token for token in special_tokens if token not in vocab]
    if missing:
        raise InputError(
            f"The vocabulary {path} has no {', '.join(missing)}; BERT needs "
            f"{', '.join(special_tokens)}, each on a line of its own. Where "
            "it spells them otherwise, say so with SpecialTokens."
        )
    if len(set(vocab)) < len(vocab):
        first = next(t for i, t in enumerate(vocab) if t in vocab[:i])
        raise InputError(
            f"The vocabulary {path} has {first!r} on two lines; a word piece "
            "has one id."
        )
    return vocab
