"""vocab.txt: one word piece a line; its id is the number of the line.

transformers writes `tokenizer.json` instead since its release 5.
"""

from __future__ import annotations

import json
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
    """Reads a `vocab.txt`, or the `tokenizer.json` of a BERT tokenizer.

    Raises InputError if it lacks a special token or has a piece twice.
    """
    path = to_path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"No vocabulary at {path}; give the vocab.txt of the checkpoint, "
            "or learn one with run_scripts/build_vocab.py."
        )
    vocab = _read_json(path) if path.suffix == ".json" else _read_lines(path)
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


def _read_lines(path):
    # Only LF ends a line: a released vocabulary has a U+2028 as a piece.
    text = path.read_bytes().decode("utf-8").removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _read_json(path):
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        kind = values["model"]["type"]
        ids = dict(values["model"]["vocab"])
        ids |= {x["content"]: x["id"] for x in values.get("added_tokens", ())}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is not a tokenizer of BERT ({error!r}); give a vocab.txt."
        ) from error
    vocab = sorted(ids, key=lambda piece: ids[piece])
    if kind != "WordPiece" or [ids[x] for x in vocab] != list(range(len(ids))):
        raise InputError(
            f"{path} is a {kind} tokenizer or has gaps in its ids, but a "
            "WordPiece tokenizer with an id for each piece was expected; give "
            "a vocab.txt."
        )
    return vocab
