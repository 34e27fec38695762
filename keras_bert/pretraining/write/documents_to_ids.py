"""Documents -> sentences -> the ids of their tokens, in the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer

# Bounds the memory of the tokenizer's graph.
_CHARACTERS_PER_CALL = 500_000
# Bounds the memory of the records' arrays, whose rows are all as long as the
# longest one.
_MAX_SENTENCE_LENGTH = 10_000

# A dot after an initial or an abbreviation does not end the sentence.
_ABBREVIATION = (
    r"\b(\p{Lu}|Mr|Mrs|Ms|Dr|St|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Messrs"
    r"|Mme|Mlle|vs|etc|No|Nos|Vol|Fig|cf|e\.g|i\.e|ca|pp?)\.[\s]+"
)
_NO_END = "\ue000"  # replaces the space after them; for private use
_CLOSING = "\"'”’»)\\]"
_END = (
    rf"([.!?…؟۔]+[{_CLOSING}]*)\s+"
    # The next sentence begins with a capital, a letter of a script without
    # capitals, or a digit.
    r"([\"'“‘«(\[¿¡—-]*[\p{Lu}\p{Lt}\p{Lo}\p{N}])"
)
# Scripts without a space after the end of a sentence.
_END_WITHOUT_SPACE = r"([。！？｡।॥]+[」』”’）]*)"


class Corpus(NamedTuple):
    """All ids in one array, so that neighbouring sentences are a slice.

    Sentence i is ids[sentence_ends[i]:sentence_ends[i + 1]]. Document d has the
    sentences document_ends[d] to document_ends[d + 1] - 1. No sentence and no
    document is empty.
    """

    ids: np.ndarray
    sentence_ends: np.ndarray
    document_ends: np.ndarray


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
        return ids.flat_values, ids.row_lengths(), sentences.row_lengths()

    def make(documents: list[str]) -> Corpus:
        chunks = [
            [array.numpy() for array in tokenize(tf.constant(chunk))]
            for chunk in _chunks(documents)
        ]
        ids, lengths, counts = map(np.concatenate, zip(*chunks, strict=True))
        ends = np.append(0, lengths).cumsum()
        # np.unique leaves out what is empty.
        document_ends = np.unique(ends[np.append(0, counts).cumsum()])
        cuts = [
            np.arange(ends[i], ends[i + 1], _MAX_SENTENCE_LENGTH)
            for i in np.flatnonzero(lengths > _MAX_SENTENCE_LENGTH)
        ]
        ends = np.unique(np.concatenate([ends, *cuts]))
        return Corpus(ids, ends, ends.searchsorted(document_ends))

    return make


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


def split_lines(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], one for each line."""
    return tf.strings.split(documents, "\n")


def split_sentences(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], split by their punctuation.

    A blank line ends a sentence. A line break alone does not, because text is
    often wrapped. A wrong guess joins two sentences or splits one; no text is
    lost.
    """
    texts = tf.strings.regex_replace(documents, r"\n\s*\n\s*", "\x00")
    texts = tf.strings.regex_replace(texts, r"\s+", " ")
    texts = tf.strings.regex_replace(texts, _ABBREVIATION, rf"\1.{_NO_END}")
    texts = tf.strings.regex_replace(texts, _END, "\\1\n\\2")
    texts = tf.strings.regex_replace(texts, _END_WITHOUT_SPACE, "\\1\n")
    texts = tf.strings.regex_replace(texts, _NO_END, " ")
    texts = tf.strings.regex_replace(texts, r"\x00", "\n")
    sentences = tf.strings.split(texts, "\n")
    sentences = sentences.with_flat_values(
        tf.strings.strip(sentences.flat_values)
    )
    return tf.ragged.boolean_mask(sentences, sentences != "")
