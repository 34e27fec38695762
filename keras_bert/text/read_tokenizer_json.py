"""A `tokenizer.json` of Hugging Face's `tokenizers` -> BERT's vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path

_TYPES = {
    "model": "WordPiece",
    "normalizer": "BertNormalizer",
    "pre_tokenizer": "BertPreTokenizer",
}
# What the normalizer calls the settings of a tokenizer.
_SETTINGS = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}


def read_vocab(file: Path) -> list[str]:
    """Returns the word pieces in the order of their ids.

    Raises InputError if the file is damaged, or the tokenizer is not BERT's.
    """
    values = _read(file)
    try:
        ids = dict(values["model"]["vocab"])
        ids |= {x["content"]: x["id"] for x in values.get("added_tokens", ())}
        vocab = sorted(ids, key=lambda piece: ids[piece])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(file, error) from error
    for number, piece in enumerate(vocab):
        if ids[piece] != number:
            raise InputError(
                f"{file} gives {piece!r} the id {ids[piece]}, but it is the "
                f"word piece number {number}; number the pieces without gaps, "
                "or give a vocab.txt."
            )
    return vocab


def read_settings(file: str | Path) -> dict[str, Any]:
    """Returns the fields of `TokenizerSettings` that the normalizer tells.

    Raises InputError as `read_vocab` does.
    """
    normalizer = _read(to_path(file)).get("normalizer", {})
    return {
        ours: normalizer[name]
        for name, ours in _SETTINGS.items()
        if name in normalizer
    }


def _read(file):
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        found = {
            x: (values[x] or {}).get("type") for x in {*_TYPES} & {*values}
        }
        # Files from before 2021 do not have the type of the model.
        if "max_input_chars_per_word" in values["model"]:
            found["model"] = "WordPiece"
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(file, error) from error
    for name, expected in _TYPES.items():
        if found.get(name, expected) != expected:
            raise InputError(
                f"The {name} of {file} is {found[name]}, but that of BERT is "
                f"{expected}, which splits text in another way; give a "
                "checkpoint with a tokenizer of BERT."
            )
    return values


def _damaged(file, error):
    return InputError(
        f"{file} is not a tokenizer of BERT ({error!r}); give a vocab.txt."
    )
