"""A checkpoint -> the tokenizer that it was trained with."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.find import (
    checkpoint_folder,
    read_json,
    vocab_beside,
)
from keras_bert.text.tokenizer_settings import (
    TokenizerSettings,
    check_tokenizer_class,
    read_settings,
)
from keras_bert.text.vocab import load_vocab
from keras_bert.text.without_tensorflow import make_tokenizer

# "cased_L-12_H-768_A-12", "bert-base-uncased", "multi_cased_L-12_H-768_A-12".
_CASE_IN_NAME = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def load_tokenizer(
    checkpoint: str | Path | None = None,
    *,
    vocab_file: str | Path | None = None,
    do_lower_case: bool | None = None,
) -> Any:
    """Loads the tokenizer of a checkpoint, or the one for a vocabulary.

    It is a `BertTokenizer`. Where TensorFlow is not installed, it is a
    `ListTokenizer` of keras_bert.text.without_tensorflow: lists of strings ->
    lists of ids, by the package `tokenizers`.

    Example:
        >>> keras_bert.load_tokenizer("pretrained").do_lower_case
        True
        >>> keras_bert.load_tokenizer(vocab_file="vocab.txt").vocab_size
        31

    Args:
        checkpoint: Anything that `load_checkpoint` takes.
        vocab_file: A vocab.txt; by default the one beside the weights.
        do_lower_case: Whether to lower-case the text; by default as the
            checkpoint was trained, or else as the vocabulary suggests: a piece
            with a capital means no.

    Raises:
        FileNotFoundError: If the checkpoint or vocabulary is missing.
        InputError: If neither TensorFlow nor `tokenizers` is installed.
    """
    vocab_file = find_vocab(checkpoint, vocab_file)
    settings = resolve_tokenizer_settings(checkpoint, vocab_file, do_lower_case)
    return make_tokenizer(vocab_file, settings)


def find_vocab(
    checkpoint: str | Path | None, vocab_file: str | Path | None = None
) -> str | Path:
    """Returns the given vocabulary, or else the one beside the weights.

    Raises FileNotFoundError if there is none.
    """
    if vocab_file is None:
        folder = checkpoint_folder(checkpoint) if checkpoint else None
        vocab_file = folder and vocab_beside(folder)
        if vocab_file is None:
            found = f", but {folder} has none" if folder else ""
            raise FileNotFoundError(
                "No vocab.txt; give a vocab_file, or a checkpoint that has a "
                f"vocab.txt or tokenizer.json beside its weights{found}."
            )
    return vocab_file


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
    file = folder / "config.json"
    check_tokenizer_class(read_json(file, is_needed=False), file)
    if (file := folder / "tokenizer.json").is_file():
        told = read_settings(file)
        found = dataclasses.replace(found, **told)
        is_found |= bool(told)
    if (file := folder / "tokenizer_config.json").is_file():
        found, is_found = TokenizerSettings.from_json(file, found), True
    # sentence-transformers can lower-case a text before its tokenizer.
    beside = read_json(folder / "sentence_bert_config.json", is_needed=False)
    if beside.get("do_lower_case", False):
        return dataclasses.replace(
            found, do_lower_case=True, strip_accents=found.strips_accents
        )
    return found if is_found else None


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
