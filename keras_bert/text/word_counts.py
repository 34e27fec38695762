"""Lines of text -> how often each word occurs -> and each word piece."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.words import clean_text, split_words

_LINES_PER_CALL = 10_000
_WORDS_PER_CALL = 100_000
# Bounds the memory: this many different words take about 500 MB.
_MAX_WORDS = 4_000_000


def count_words(
    lines: Iterable[str], settings: TokenizerSettings
) -> dict[str, int]:
    """Counts words as `BertTokenizer` splits them, before any word piece.

    Beyond 4 million different words, it forgets the words that it has seen
    once so far.
    """
    counts: collections.Counter[bytes] = collections.Counter()
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _LINES_PER_CALL)):
        words = _splitter(settings)(tf.constant(chunk, tf.string))
        counts.update(words.flat_values.numpy())
        if len(counts) > _MAX_WORDS:
            logging.warning(
                "The text has more than %d different words; those that were "
                "seen once so far are forgotten.",
                _MAX_WORDS,
            )
            counts = collections.Counter(
                {word: n for word, n in counts.items() if n > 1}
            )
    return {word.decode("utf-8"): n for word, n in counts.items()}


def words_of_texts(
    texts: list[str], settings: TokenizerSettings
) -> list[list[str]]:
    """Returns the words of each text."""
    words = _splitter(settings)(tf.constant(texts, tf.string))
    return [[w.decode("utf-8") for w in row] for row in words.to_list()]


@functools.cache
def _splitter(settings):
    return tf.function(
        lambda texts: split_words(clean_text(texts, settings), settings)[0],
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )


def check_lines(**texts: Iterable[str]) -> None:
    """Raises InputError if one of the texts is one string, such as a path.

    Its characters would be taken for lines.
    """
    for name, text in texts.items():
        if isinstance(text, (str, bytes, Path)):
            raise InputError(
                f"{name} is the string {str(text)[:50]!r}, but lines of text "
                "were expected; give a list, or an open file."
            )


def count_tokens(
    tokenizer: BertTokenizer, word_counts: Mapping[str, int]
) -> np.ndarray:
    """Returns how often each piece occurs in the words, by its id."""
    words = list(word_counts)
    per_piece = np.zeros(tokenizer.vocab_size, np.int64)
    for begin in range(0, len(words), _WORDS_PER_CALL):
        chunk = words[begin : begin + _WORDS_PER_CALL]
        ids = tokenizer(tf.constant(chunk))
        counts = np.array([word_counts[word] for word in chunk])
        np.add.at(
            per_piece, ids.values.numpy(), counts[ids.value_rowids().numpy()]
        )
    return per_piece
