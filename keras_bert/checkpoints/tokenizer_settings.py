"""A checkpoint -> the settings of its tokenizer."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.find import checkpoint_folder
from keras_bert.errors import InputError
from keras_bert.text.tokenizer_settings import TokenizerSettings
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
    settings = found or settings_of_vocab(load_vocab(vocab_file))
    if do_lower_case is None or do_lower_case == settings.do_lower_case:
        return settings
    if found:
        logging.warning(
            "%s was trained on %s text, but do_lower_case is %s; set "
            "--do_lower_case=%s unless this is meant.",
            checkpoint,
            "lower-cased" if found.do_lower_case else "cased",
            str(do_lower_case).lower(),
            str(found.do_lower_case).lower(),
        )
    return dataclasses.replace(settings, do_lower_case=do_lower_case)


def find_tokenizer_settings(
    checkpoint: str | Path,
) -> TokenizerSettings | None:
    """Returns the settings that the checkpoint tells, or None.

    They are in the `tokenizer_config.json` beside the weights, or follow from
    "cased" or "uncased" in the last two parts of the checkpoint's path.
    """
    in_name = _CASE_IN_NAME.search("/".join(Path(str(checkpoint)).parts[-2:]))
    do_lower_case = in_name is None or in_name[1] is not None
    folder = checkpoint_folder(checkpoint)
    file = folder / "tokenizer_config.json"
    if file.is_file():
        found = TokenizerSettings.from_json(file, do_lower_case=do_lower_case)
    else:
        found = TokenizerSettings(do_lower_case)
    if _lower_cases_before(folder):
        return dataclasses.replace(
            found, do_lower_case=True, strip_accents=found.strips_accents
        )
    return None if in_name is None and not file.is_file() else found


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
    pieces = (piece for piece in vocab if not piece.startswith("["))
    return TokenizerSettings(all(p == p.lower() for p in pieces))
