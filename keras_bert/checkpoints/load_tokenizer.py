"""A checkpoint -> the tokenizer that it was trained with."""

import dataclasses
import importlib.util
import re
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.checkpoint import AnyCheckpoint, Checkpoint
from keras_bert.checkpoints.sentence_transformers import transformer_file
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import read_json
from keras_bert.text.tokenizer_files import read_values
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import capitals_of, load_vocab
from keras_bert.text.without_tensorflow import ListTokenizer

# "cased_L-12_H-768_A-12", "bert-base-uncased", "multi_cased_L-12_H-768_A-12".
_CASE_IN_NAME = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def load_tokenizer(
    checkpoint: AnyCheckpoint | None = None,
    *,
    vocab_file: str | Path | None = None,
    do_lower_case: bool | None = None,
    special_tokens_in_text: bool | None = None,
) -> Any:
    """Loads the tokenizer of a checkpoint or of a vocabulary file.

    The files beside the weights define the tokenizer. A setting in them that
    this package does not support raises InputError.

    The result is a `BertTokenizer`. If TensorFlow is not installed, the result
    is a `ListTokenizer` from keras_bert.text.without_tensorflow, which turns
    lists of strings into lists of ids with the package `tokenizers`.

    Example:
        >>> keras_bert.load_tokenizer("pretrained").do_lower_case
        True
        >>> keras_bert.load_tokenizer(vocab_file="vocab.txt").vocab_size
        31

    Args:
        checkpoint: Anything that `load_checkpoint` takes, or a folder with only
            the files of a tokenizer.
        vocab_file: A vocab.txt or a tokenizer.json; by default, the file beside
            the weights.
        do_lower_case: Whether to lower-case the text. By default, the setting
            in the checkpoint is used. If the checkpoint has no such setting,
            the capitals in the vocabulary decide, and the log warns.
        special_tokens_in_text: Whether "[MASK]" in a text becomes the special
            token, as in transformers. By default, the saved tokenizer's setting
            is used. If the saved tokenizer has no such setting, the value is
            False, so that no user can put a special token into a text.

    Raises:
        FileNotFoundError: If the checkpoint or vocabulary is missing.
        InputError: If a file of the tokenizer is damaged or has a setting that
            this package does not support, or if neither TensorFlow nor
            `tokenizers` is installed.
    """
    vocab_file = find_vocab(checkpoint, vocab_file)
    settings = resolve_tokenizer_settings(
        checkpoint, vocab_file, do_lower_case, special_tokens_in_text
    )
    if not importlib.util.find_spec("tensorflow"):
        return ListTokenizer.from_settings(vocab_file, settings)
    from keras_bert.text.tokenizer import BertTokenizer

    return BertTokenizer.from_settings(vocab_file, settings)


def find_vocab(
    checkpoint: AnyCheckpoint | None, vocab_file: str | Path | None = None
) -> str | Path:
    """Returns the path of the given vocabulary, or else of the checkpoint's.

    Raises FileNotFoundError if there is no vocabulary.
    """
    if vocab_file is not None:
        return vocab_file
    why = "."
    if checkpoint:
        given = Checkpoint.of_tokenizer(checkpoint)
        if file := given.vocab_file:
            return file
        why = f", but {given.folder} has none."
    raise FileNotFoundError(
        "No vocab.txt; give a vocab_file, or a checkpoint with a vocab.txt or "
        f"tokenizer.json beside its weights{why}"
    )


def resolve_tokenizer_settings(
    checkpoint: AnyCheckpoint | None,
    vocab_file: str | Path,
    do_lower_case: bool | None = None,
    special_tokens_in_text: bool | None = None,
) -> TokenizerSettings:
    """Returns the tokenizer settings of a checkpoint or a vocabulary.

    Given values override the saved settings. The log warns if a given
    `do_lower_case` contradicts the checkpoint. If `do_lower_case` is neither
    given nor saved, the capitals in the vocabulary decide, and the log warns.
    """
    file, source = to_path(vocab_file), vocab_file
    told: dict[str, Any] = {}
    if checkpoint:
        checkpoint = Checkpoint.of_tokenizer(checkpoint)
        told, source = tokenizer_values(checkpoint), checkpoint.place
    elif file.suffix in (".json", ".model") and file.is_file():
        told = read_values(file.parent, file)
    if special_tokens_in_text is not None:
        told["special_tokens_in_text"] = special_tokens_in_text
    if do_lower_case is not None:
        before = told.get("do_lower_case", do_lower_case)
        warn_of_other_case(source, before, do_lower_case)
        told["do_lower_case"] = do_lower_case
    settings = TokenizerSettings.from_values(told, source)
    if "do_lower_case" not in told:
        pieces = load_vocab(vocab_file, settings)
        capitals = capitals_of(pieces)
        # An uncased vocabulary may have a few capitals, as in added pieces.
        is_lower = len(capitals) <= len(pieces) / 100
        logging.warning(
            "No file says whether %s is cased. Text is %s, because %d of the "
            "%d word pieces have a capital; give do_lower_case=%s if this is "
            "wrong.",
            vocab_file,
            "lower-cased" if is_lower else "not lower-cased",
            len(capitals),
            len(pieces),
            not is_lower,
        )
        settings = dataclasses.replace(settings, do_lower_case=is_lower)
    return settings


def warn_of_other_case(source: str | Path, before: bool, given: bool) -> None:
    """Warns if a given `do_lower_case` differs from that of `source`."""
    if given != before:
        logging.warning(
            "%s was made with do_lower_case=%s, but do_lower_case=%s was "
            "given; leave out do_lower_case unless you want this.",
            source,
            before,
            given,
        )


def tokenizer_values(checkpoint: AnyCheckpoint) -> dict[str, Any]:
    """Returns the fields of `TokenizerSettings` that a checkpoint sets.

    The files beside the weights set the fields. If no file sets
    `do_lower_case`, "cased" or "uncased" in the last two parts of the
    checkpoint's path sets it. Raises InputError if a file is damaged or has a
    setting that this package does not support.
    """
    checkpoint = Checkpoint.of_tokenizer(checkpoint)
    told = read_values(checkpoint.folder)
    parts = Path(str(checkpoint.place)).parts
    if in_name := _CASE_IN_NAME.search("/".join(parts[-2:])):
        told.setdefault("do_lower_case", in_name[1] is not None)
    # sentence-transformers can lower-case a text before it is tokenized.
    beside = read_json(transformer_file(checkpoint.folder), is_needed=False)
    if beside.get("do_lower_case", False):
        if told.get("strip_accents") is None:
            told["strip_accents"] = told.get("do_lower_case", True)
        told["do_lower_case"] = True
    return told
