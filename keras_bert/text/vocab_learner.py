"""Text files -> a vocabulary of word pieces."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
from absl import logging
from tensorflow_text.tools.wordpiece_vocab import (
    wordpiece_tokenizer_learner_lib as learner,
)

from keras_bert.errors import InputError
from keras_bert.files import atomic_path
from keras_bert.text.vocab import SPECIAL_TOKENS
from keras_bert.text.words import split_words

_LINES_PER_CALL = 10_000


def learn_vocab(
    lines: Iterable[str],
    output_file: str | Path,
    *,
    vocab_size: int,
    lower_case: bool = True,
) -> list[str]:
    """Learns word pieces of text and writes them as a vocab.txt.

    Words are split as `BertTokenizer` splits them; the pieces are chosen by
    the top-down learner of tensorflow-text. Special tokens come first, then
    single characters, then pieces, the most frequent first.

    Args:
        lines: The text, in any order.
        output_file: Where to write; appears only when it is whole.
        vocab_size: The largest size. Text that is small or has few different
            words gives fewer pieces; it can be up to 5 % below in any case.
        lower_case: Whether the text is lower-cased and stripped of accents.

    Returns:
        The vocabulary.

    Raises:
        InputError: Where the text has no word, or the size is below 100.
    """
    if vocab_size < 100:
        raise InputError(
            f"vocab_size {vocab_size} leaves no room for word pieces; choose "
            "at least 100."
        )
    counts = _count_words(lines, lower_case)
    if not counts:
        raise InputError(
            "The text has no word to learn a vocabulary of; give files with "
            "text in them."
        )
    characters = {character for word in counts for character in word}
    # Each stands twice, alone and after ##, so that a word of the text is
    # never unknown.
    max_characters = vocab_size // 4
    if len(characters) > max_characters:
        logging.warning(
            "The text has %d different characters; words with other than the "
            "%d most frequent will be [UNK]. A larger vocab_size keeps more.",
            len(characters),
            max_characters,
        )
    logging.info(
        "Choosing at most %d pieces for %d words", vocab_size, len(counts)
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


def _drop_rarest(vocab, num_dropped):
    """Cuts what the learner's search left over, but never a character."""
    pieces = [p for p in vocab if len(p.removeprefix("##")) > 1]
    pieces = pieces[len(SPECIAL_TOKENS) :]
    dropped = set(pieces[len(pieces) - max(num_dropped, 0) :])
    return [piece for piece in vocab if piece not in dropped]


def _count_words(lines, lower_case):
    split = tf.function(
        lambda texts: split_words(texts, lower_case=lower_case).flat_values,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    counts = collections.Counter()
    chunk = []

    def count_chunk():
        counts.update(split(tf.constant(chunk, tf.string)).numpy())
        chunk.clear()

    for line in lines:
        chunk.append(line)
        if len(chunk) == _LINES_PER_CALL:
            count_chunk()
    count_chunk()
    return {word.decode("utf-8"): n for word, n in counts.items()}
