"""Lines of text -> word counts -> a vocabulary of word pieces."""

import collections
import functools
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.whole_files import atomic_path
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import SPECIAL_TOKENS, TokenizerSettings
from keras_bert.text.words import clean_text, split_words

_LINES_PER_CALL = 10_000
# Limits the memory: this many distinct words take about 500 MB.
_MAX_WORDS = 4_000_000


def learn_vocab(
    lines: Iterable[str],
    output_file: str | Path,
    *,
    vocab_size: int,
    do_lower_case: bool = True,
) -> list[str]:
    """Learns word pieces from text and writes a vocab.txt.

    Words are split as `BertTokenizer` splits them; the top-down learner of
    tensorflow-text chooses the pieces. The special tokens come first, then
    single characters, then pieces, most frequent first.

    Example:
        >>> with open("corpus.txt") as lines:
        ...     vocab = keras_bert.text.learn_vocab(
        ...         lines, "new.txt", vocab_size=100
        ...     )
        >>> vocab[:6]
        ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ',']

    Args:
        lines: The lines of the text, in any order.
        output_file: The file to write; it appears when it is complete.
        vocab_size: The largest number of pieces. The vocabulary can be 5%
            smaller, and smaller still if the text has few distinct words.
        do_lower_case: Whether to lower-case the text and remove accents.

    Returns:
        The vocabulary.

    Raises:
        InputError: If the text has no word, if `vocab_size` is below 100, or if
            tensorflow-text is not installed.
    """
    try:
        from tensorflow_text.tools.wordpiece_vocab import (
            wordpiece_tokenizer_learner_lib as learner,
        )
    except ModuleNotFoundError as error:
        raise InputError(
            "Learning a vocabulary needs tensorflow-text, which is not "
            "installed; use a machine for which it has wheels, such as Linux "
            "on x86_64, and run pip install tensorflow-text."
        ) from error
    if vocab_size < 100:
        raise InputError(
            f"vocab_size {vocab_size} leaves no room for word pieces; choose "
            "at least 100."
        )
    check_lines(lines=lines)
    counts = count_words(lines, TokenizerSettings(do_lower_case))
    if not counts:
        raise InputError(
            "The text has no word to learn a vocabulary from; give files "
            "that contain text."
        )
    characters = {character for word in counts for character in word}
    # Each character is a piece alone and after ##, so that no word of the text
    # is unknown.
    max_characters = vocab_size // 4
    if len(characters) > max_characters:
        logging.warning(
            "The text has %d different characters; only the %d most frequent "
            "are kept, and a word with any other character becomes [UNK]. A "
            "larger vocab_size keeps more.",
            len(characters),
            max_characters,
        )
    vocab = learner.learn(
        counts.items(),
        vocab_size,
        list(SPECIAL_TOKENS),
        lower_thresh=2,
        max_unique_chars=max_characters,
    )
    vocab = _drop_rarest(vocab, len(vocab) - vocab_size)
    with atomic_path(output_file) as path:
        path.write_text("\n".join(vocab) + "\n", encoding="utf-8", newline="\n")
    return vocab


def _drop_rarest(vocab: list[str], num_dropped: int) -> list[str]:
    """Returns the vocabulary without its rarest pieces.

    Pieces of one character are not dropped.
    """
    pieces = [p for p in vocab if len(p.removeprefix("##")) > 1]
    pieces = pieces[len(SPECIAL_TOKENS) :]
    dropped = set(pieces[len(pieces) - max(num_dropped, 0) :])
    return [piece for piece in vocab if piece not in dropped]


def count_words(
    lines: Iterable[str], settings: TokenizerSettings
) -> dict[str, int]:
    """Returns how often each word occurs in the lines.

    Words are split as `BertTokenizer` splits them before it finds pieces.
    Beyond 4 million distinct words, words that occurred only once so far are
    forgotten.
    """
    counts: collections.Counter[bytes] = collections.Counter()
    lines = map(checked_line, lines)
    while chunk := list(itertools.islice(lines, _LINES_PER_CALL)):
        words = _splitter(settings)(tf.constant(chunk, tf.string))
        counts.update(words.flat_values.numpy())
        if len(counts) > _MAX_WORDS:
            logging.warning(
                "The text has more than %d different words; words seen only "
                "once so far are dropped.",
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
def _splitter(settings: TokenizerSettings) -> Any:
    return tf.function(
        lambda texts: split_words(clean_text(texts, settings), settings)[0],
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )


def check_lines(**texts: Iterable[str]) -> None:
    """Raises InputError if a text is a single string, such as a path.

    The characters of the string would be treated as lines.
    """
    for name, text in texts.items():
        if isinstance(text, (str, bytes, Path)):
            raise InputError(
                f"{name} is the string {str(text)[:50]!r}, but lines of text "
                "were expected; give a list, or an open file."
            )


def checked_line(line: str) -> str:
    """Returns a line, or raises InputError if it is not a string."""
    if not isinstance(line, (str, bytes)):
        raise InputError(f"A line or a word is {line!r}; give strings.")
    return line


def count_ids(tokenizer: BertTokenizer, lines: Iterable[str]) -> np.ndarray:
    """Returns how often each id occurs in the lines, int64 [V]."""
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    lines = map(checked_line, lines)
    while chunk := list(itertools.islice(lines, _LINES_PER_CALL)):
        ids = tokenizer(chunk).values.numpy()
        counts += np.bincount(ids, minlength=len(counts))
    return counts
