"""A checkpoint -> the tokenizer that it was trained with."""

import dataclasses
import importlib.util
import re
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.io.whole_files import read_json
from keras_bert.text.tokenizer_settings import (
    TokenizerSettings,
    check_tokenizer_class,
    read_settings,
)
from keras_bert.text.vocab import load_vocab
from keras_bert.text.without_tensorflow import ListTokenizer

# "cased_L-12_H-768_A-12", "bert-base-uncased", "multi_cased_L-12_H-768_A-12".
_CASE_IN_NAME = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def load_tokenizer(
    checkpoint: str | Path | Checkpoint | None = None,
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
    if not importlib.util.find_spec("tensorflow"):
        return ListTokenizer.from_settings(vocab_file, settings)
    from keras_bert.text.tokenizer import BertTokenizer

    return BertTokenizer.from_settings(vocab_file, settings)


def find_vocab(
    checkpoint: str | Path | Checkpoint | None,
    vocab_file: str | Path | None = None,
) -> str | Path:
    """Returns the given vocabulary, or else the one beside the weights.

    Raises FileNotFoundError if there is none.
    """
    if vocab_file is None:
        found = Checkpoint.of(checkpoint) if checkpoint else None
        vocab_file = found.vocab_file if found else None
        if vocab_file is None:
            raise FileNotFoundError(
                "No vocab.txt; give a vocab_file, or a checkpoint with a "
                "vocab.txt or tokenizer.json beside its weights"
                + (f", but {found.folder} has none." if found else ".")
            )
    return vocab_file


def resolve_tokenizer_settings(
    checkpoint: str | Path | Checkpoint | None,
    vocab_file: str | Path,
    do_lower_case: bool | None = None,
) -> TokenizerSettings:
    """Returns the checkpoint's settings, or else what the vocabulary tells.

    A given `do_lower_case` overrides the found value. The log warns if it
    contradicts the checkpoint.
    """
    found = find_tokenizer_settings(checkpoint) if checkpoint else None
    vocab = load_vocab(vocab_file)
    # Special tokens such as [CLS] tell nothing.
    capitals = [p for p in vocab if p != p.lower() and not p.startswith("[")]
    settings = found or TokenizerSettings(do_lower_case=not capitals)
    if do_lower_case is not None and do_lower_case != settings.do_lower_case:
        settings = dataclasses.replace(settings, do_lower_case=do_lower_case)
        if checkpoint and found:
            logging.warning(
                "%s was trained with do_lower_case=%s, but do_lower_case=%s "
                "was given; leave it out unless this is meant.",
                Checkpoint.of(checkpoint).place,
                found.do_lower_case,
                do_lower_case,
            )
    # An uncased vocabulary may have a few, such as added pieces.
    limit = len(vocab) / 20 if settings.do_lower_case else 0
    if (len(capitals) > limit) == settings.do_lower_case:
        logging.warning(
            "%d word pieces of %s have a capital, but do_lower_case is %s; is "
            "this the right vocabulary?",
            len(capitals),
            vocab_file,
            settings.do_lower_case,
        )
    return settings


def find_tokenizer_settings(
    checkpoint: str | Path | Checkpoint,
) -> TokenizerSettings | None:
    """Returns the settings that the checkpoint tells, or None.

    They are in the `tokenizer_config.json` beside the weights, in its
    `tokenizer.json`, or follow from "cased" or "uncased" in the last two parts
    of the checkpoint's path. Raises InputError if the tokenizer is not BERT's.
    """
    checkpoint = Checkpoint.of(checkpoint)
    parts = Path(str(checkpoint.place)).parts
    in_name = _CASE_IN_NAME.search("/".join(parts[-2:]))
    found = TokenizerSettings(in_name[1] is not None) if in_name else None
    folder = checkpoint.folder
    check_tokenizer_class(checkpoint.hub_config, folder / "config.json")
    if (file := folder / "tokenizer.json").is_file():
        if told := read_settings(file):
            found = dataclasses.replace(found or TokenizerSettings(), **told)
    if (file := folder / "tokenizer_config.json").is_file():
        found = TokenizerSettings.from_json(file, found)
    # sentence-transformers can lower-case a text before its tokenizer.
    beside = read_json(folder / "sentence_bert_config.json", is_needed=False)
    if beside.get("do_lower_case", False):
        found = found or TokenizerSettings()
        found = dataclasses.replace(
            found, do_lower_case=True, strip_accents=found.strips_accents
        )
    return found
