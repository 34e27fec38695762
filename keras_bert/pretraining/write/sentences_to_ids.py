"""Documents -> the token ids of their sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer

# Bounds the memory of the tokenizer's graph.
_CHARACTERS_PER_CALL = 500_000
# Bounds the memory of the records' arrays, whose rows are all as long as the
# longest one.
_MAX_SENTENCE_LENGTH = 10_000


@dataclasses.dataclass(frozen=True)
class Corpus:
    """All ids in one array, so that neighbouring sentences are a slice.

    Sentence i is ids[sentence_ends[i]:sentence_ends[i + 1]]. Document d has the
    sentences document_ends[d] to document_ends[d + 1] - 1. No sentence and no
    document is empty.
    """

    ids: np.ndarray
    sentence_ends: np.ndarray
    document_ends: np.ndarray

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_ends) - 1

    @property
    def num_documents(self) -> int:
        return len(self.document_ends) - 1


def corpus_maker(
    tokenizer: BertTokenizer,
    split: Callable[[tf.Tensor], tf.RaggedTensor],
) -> Callable[[list[str]], Corpus]:
    """Returns a function from documents to a Corpus; its graph is built once.

    `split` maps documents [B] to ragged sentences [B, (sentences)]. A sentence
    of more than 10,000 tokens is cut and counts as several.
    """

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    def tokenize(documents):
        sentences = split(documents)
        ids = tokenizer(sentences.flat_values)
        lengths = ids.row_lengths()
        has_tokens = lengths > 0
        document = tf.boolean_mask(sentences.value_rowids(), has_tokens)
        counts = tf.math.bincount(
            tf.cast(document, tf.int32),
            minlength=tf.size(documents),
            dtype=tf.int64,
        )
        return (
            ids.flat_values,
            tf.boolean_mask(lengths, has_tokens),
            tf.boolean_mask(counts, counts > 0),
        )

    def make(documents: list[str]) -> Corpus:
        chunks = [
            [array.numpy() for array in tokenize(tf.constant(chunk))]
            for chunk in _chunks(documents)
        ]
        ids, lengths, counts = map(np.concatenate, zip(*chunks, strict=True))
        sentence_ends, document_ends = _ends(lengths), _ends(counts)
        short_ends = _cut_up(sentence_ends)
        return Corpus(
            ids,
            short_ends,
            short_ends.searchsorted(sentence_ends[document_ends]),
        )

    return make


def _cut_up(sentence_ends):
    long = np.flatnonzero(np.diff(sentence_ends) > _MAX_SENTENCE_LENGTH)
    ends = [
        np.arange(begin, end, _MAX_SENTENCE_LENGTH)
        for begin, end in zip(
            sentence_ends[long], sentence_ends[long + 1], strict=True
        )
    ]
    return np.unique(np.concatenate([sentence_ends, *ends]))


def _ends(lengths):
    return np.concatenate([[0], np.cumsum(lengths)])


def _chunks(documents: list[str]) -> Iterator[list[str]]:
    chunk, size = [], 0
    for document in documents:
        chunk.append(document)
        size += len(document)
        if size >= _CHARACTERS_PER_CALL:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
