"""vocab.txt: one word piece a line; its id is the number of the line.

transformers writes `tokenizer.json` instead since its release 5.
"""

from __future__ import annotations

import collections
from pathlib import Path
from typing import NamedTuple

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.text.read_tokenizer_json import read_vocab


class SpecialTokens(NamedTuple):
    """The names of the special tokens in a vocabulary.

    Example:
        >>> names = keras_bert.text.SpecialTokens(mask=".")
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
    """Reads a `vocab.txt`, or the `tokenizer.json` of a BERT tokenizer.

    Raises InputError if it lacks a special token or has a piece twice.
    """
    path = to_path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"No vocabulary at {path}; give the vocab.txt of the checkpoint, "
            "or learn one with keras-bert build-vocab."
        )
    vocab = read_vocab(path) if path.suffix == ".json" else _read_lines(path)
    _check_family(vocab, path)
    missing = [token for token in special_tokens if token not in vocab]
    if missing:
        raise InputError(
            f"The vocabulary {path} has no {', '.join(missing)}; BERT needs "
            f"{', '.join(special_tokens)}, each on a line of its own. If "
            "the vocabulary has other names for them, give SpecialTokens."
        )
    ((first, num_lines),) = collections.Counter(vocab).most_common(1)
    if num_lines > 1:
        raise InputError(
            f"The vocabulary {path} has {first!r} on {num_lines} lines, but "
            "a word piece has one id; keep one of them."
        )
    return vocab


def _read_lines(path):
    try:
        text = path.read_bytes().decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The vocabulary {path} is not UTF-8 ({error}); copy it again, or "
            "convert it to UTF-8."
        ) from error
    # Only LF ends a line: a released vocabulary has a U+2028 as a piece.
    return [line.removesuffix("\r") for line in text.split("\n")]


def _check_family(vocab, path):
    """Refuses pieces that mark where a word begins, not where it goes on."""
    for mark, family in {"\u2581": "SentencePiece", "\u0120": "BPE"}.items():
        if 10 * sum(piece.startswith(mark) for piece in vocab) > len(vocab):
            raise InputError(
                f"The vocabulary {path} is one of {family}: many pieces begin "
                f"with {mark!r}. BERT marks a piece inside a word with ##; "
                "give a vocabulary of BERT."
            )
