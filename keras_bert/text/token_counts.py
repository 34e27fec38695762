"""Words and their counts -> how often a text has each piece."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer

_WORDS_PER_CALL = 100_000


@dataclasses.dataclass(frozen=True)
class TokenCounts:
    """What a tokenizer makes of a text.

    Attributes:
        num_words: Words of the text; a punctuation mark is a word.
        num_unknown_words: Words that are [UNK].
        per_piece: The number of each piece, by its id.
    """

    num_words: int
    num_unknown_words: int
    per_piece: np.ndarray

    @property
    def tokens_per_word(self) -> float:
        return float(self.per_piece.sum() / self.num_words)


def count_tokens(
    tokenizer: BertTokenizer, word_counts: Mapping[str, int]
) -> TokenCounts:
    """Counts the tokens of the words of a `WordCounter`."""
    words = list(word_counts)
    per_piece = np.zeros(tokenizer.vocab_size, np.int64)
    for begin in range(0, len(words), _WORDS_PER_CALL):
        chunk = words[begin : begin + _WORDS_PER_CALL]
        ids = tokenizer(tf.constant(chunk))
        counts = np.array([word_counts[word] for word in chunk])
        np.add.at(
            per_piece, ids.values.numpy(), counts[ids.value_rowids().numpy()]
        )
    return TokenCounts(
        sum(word_counts.values()), int(per_piece[tokenizer.unk_id]), per_piece
    )
