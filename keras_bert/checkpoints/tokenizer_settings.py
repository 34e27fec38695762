"""A checkpoint -> the settings of its tokenizer."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.checkpoints.huggingface_config import read_huggingface_config
from keras_bert.errors import InputError
from keras_bert.text.tokenizer_json import read_settings
from keras_bert.text.tokenizer_settings import (
    TokenizerSettings,
    check_tokenizer_class,
)
from keras_bert.text.vocab import load_vocab

# "cased_L-12_H-768_A-12", "bert-base-uncased", "multi_cased_L-12_H-768_A-12".
_CASE_IN_NAME = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def resolve_tokenizer_settings(
    checkpoint: str | Path | None,
    vocab_file: str | Path,
    do_lower_case: bool | None = None,
) -> TokenizerSettings:
    """Returns the checkpoint's settings, or else those of the vocabulary.

    A given `do_lower_case` overrides the found value. The log warns if it
    contradicts the checkpoint.
    """
    found = find_tokenizer_settings(checkpoint) if checkpoint else None
    vocab = load_vocab(vocab_file)
    settings = found or settings_of_vocab(vocab)
    if do_lower_case is not None and do_lower_case != settings.do_lower_case:
        settings = dataclasses.replace(settings, do_lower_case=do_lower_case)
        if found:
            logging.warning(
                "%s was trained on %s text, but do_lower_case is %s; set "
                "--do_lower_case=%s unless this is meant.",
                checkpoint,
                "lower-cased" if found.do_lower_case else "cased",
                str(do_lower_case).lower(),
                str(found.do_lower_case).lower(),
            )
    _warn_of_case(vocab, settings.do_lower_case, vocab_file)
    return settings


def find_tokenizer_settings(
    checkpoint: str | Path,
) -> TokenizerSettings | None:
    """Returns the settings that the checkpoint tells, or None.

    They are in the `tokenizer_config.json` beside the weights, in its
    `tokenizer.json`, or follow from "cased" or "uncased" in the last two parts
    of the checkpoint's path. Raises InputError if the tokenizer is not BERT's.
    """
    in_name = _CASE_IN_NAME.search("/".join(Path(str(checkpoint)).parts[-2:]))
    found = TokenizerSettings(in_name is None or in_name[1] is not None)
    is_found = in_name is not None
    folder = checkpoint_folder(checkpoint)
    check_tokenizer_class(
        read_huggingface_config(folder), folder / "config.json"
    )
    if (file := folder / "tokenizer.json").is_file():
        told = read_settings(file)
        found = dataclasses.replace(found, **told)
        is_found |= bool(told)
    if (file := folder / "tokenizer_config.json").is_file():
        found, is_found = TokenizerSettings.from_json(file, found), True
    if _lower_cases_before(folder):
        return dataclasses.replace(
            found, do_lower_case=True, strip_accents=found.strips_accents
        )
    return found if is_found else None


def _lower_cases_before(folder):
    """Returns whether sentence-transformers lower-cases a text itself."""
    file = folder / "sentence_bert_config.json"
    try:
        values = json.loads(file.read_bytes()) if file.is_file() else {}
        return values.get("do_lower_case", False)
    except (AttributeError, ValueError) as error:
        raise InputError(
            f"{file} does not hold an object of JSON ({error}); copy it again."
        ) from error


def settings_of_vocab(vocab: Iterable[str]) -> TokenizerSettings:
    """Returns cased settings if a piece has a capital, else uncased ones.

    Special tokens such as "[CLS]" do not count.
    """
    return TokenizerSettings(not _with_capitals(vocab))


def _with_capitals(vocab):
    return [p for p in vocab if p != p.lower() and not p.startswith("[")]


def _warn_of_case(vocab, do_lower_case, vocab_file):
    """Warns of a vocabulary that does not fit the text."""
    capitals = _with_capitals(vocab)
    # An uncased vocabulary may have a few, such as added pieces.
    if do_lower_case and len(capitals) > len(vocab) / 20:
        logging.warning(
            "%d word pieces of %s have a capital, such as %r, but "
            "do_lower_case is true, so no text has them; is this the right "
            "vocabulary?",
            len(capitals),
            vocab_file,
            capitals[0],
        )
    if not do_lower_case and not capitals:
        logging.warning(
            "No word piece of %s has a capital, but do_lower_case is false, "
            "so words with capitals are unknown; is this the right vocabulary?",
            vocab_file,
        )
