"""vocab.txt: one word piece a line; its id is the number of the line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keras_bert.errors import InputError
from keras_bert.storage.paths import to_path


class SpecialTokens(NamedTuple):
    """The names of the special tokens in a vocabulary.

    Example:
        >>> names = keras_bert.SpecialTokens(mask=".")
        >>> tokenizer = keras_bert.BertTokenizer(
        ...     "vocab.txt", special_tokens=names
        ... )
        >>> tokenizer.tokens([tokenizer.mask_id])
        ['.']
    """

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"


# Every released vocabulary has these.
SPECIAL_TOKENS = SpecialTokens()


def load_vocab(
    path: str | Path, special_tokens: SpecialTokens = SPECIAL_TOKENS
) -> list[str]:
    """Reads a vocabulary.

    Raises InputError if it lacks a special token or has a piece twice.
    """
    path = to_path(path)
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
            f"{', '.join(special_tokens)}, each on a line of its own. If "
            "the vocabulary has other names for them, give SpecialTokens."
        )
    if len(set(vocab)) < len(vocab):
        first = next(t for i, t in enumerate(vocab) if t in vocab[:i])
        raise InputError(
            f"The vocabulary {path} has {first!r} on two lines, but a word "
            "piece has one id; remove one of them."
        )
    return vocab
