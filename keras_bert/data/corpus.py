"""Lines of text -> documents of tokenized sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
import tensorflow as tf
from absl import logging
from tqdm import tqdm

from keras_bert.text.tokenizer import BertTokenizer

_LINES_PER_CALL = 10_000


@dataclasses.dataclass(frozen=True)
class Corpus:
    """All ids in one array, so that any stretch of sentences is a slice.

    Sentence i is ids[sentence_ends[i]:sentence_ends[i + 1]], and document d
    is the sentences document_ends[d] to document_ends[d + 1].
    """

    ids: np.ndarray
    sentence_ends: np.ndarray
    document_ends: np.ndarray

    @property
    def num_documents(self) -> int:
        return len(self.document_ends) - 1

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], tokenizer: BertTokenizer
    ) -> Corpus:
        tokenize = tf.function(
            tokenizer,
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
        )
        ids, lengths, document_ends = [], [], [0]
        num_sentences = 0
        progress = tqdm(desc="Tokenizing", unit=" lines", disable=None)
        for chunk in _chunks(lines, _LINES_PER_CALL):
            ragged = tokenize(tf.constant(chunk))
            ids.append(ragged.flat_values.numpy())
            chunk_lengths = ragged.row_lengths().numpy()
            # A line without a token that is blank ends a document; another
            # one, such as a stray control character, is nothing.
            for line, length in zip(chunk, chunk_lengths, strict=True):
                if length:
                    num_sentences += 1
                elif not line.strip() and document_ends[-1] != num_sentences:
                    document_ends.append(num_sentences)
            lengths.append(chunk_lengths[chunk_lengths > 0])
            progress.update(len(chunk))
        progress.close()
        if not num_sentences:
            raise ValueError(
                "The text holds no sentence; give one sentence a line and a "
                "blank line between documents."
            )
        if document_ends[-1] != num_sentences:
            document_ends.append(num_sentences)
        if len(document_ends) == 2:
            logging.warning(
                "The text is one document, so a random next sentence comes "
                "from the same one; put a blank line between documents."
            )
        return cls(
            np.concatenate(ids),
            np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
            np.array(document_ends),
        )


def _chunks(lines, size):
    chunk = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
