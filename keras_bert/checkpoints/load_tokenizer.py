"""A checkpoint -> the tokenizer that it was trained with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keras_bert.checkpoints.find import find_vocab
from keras_bert.checkpoints.tokenizer_settings import (
    resolve_tokenizer_settings,
)
from keras_bert.text.without_tensorflow import make_tokenizer


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
