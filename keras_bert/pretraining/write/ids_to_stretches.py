"""Sentences -> stretches, from which pairs are drawn in each epoch."""

from __future__ import annotations

import random

import numpy as np

from keras_bert.pretraining.write.ids_to_pairs import (
    gather,
    random_start,
    target_length,
)
from keras_bert.pretraining.write.sentences_to_ids import Corpus

# The names in the records: a stretch of sentences with as many tokens as the
# target length; and sentences of another document, enough to follow the first
# sentence of the stretch.
FEATURES = (
    "sentence_ids",
    "sentence_lengths",
    "random_sentence_ids",
    "random_sentence_lengths",
    "target_length",
)


def draw_stretches(
    corpus: Corpus,
    *,
    max_seq_length: int,
    short_seq_prob: float,
    dupe_factor: int,
    generator: random.Random,
) -> np.ndarray:
    """Cuts the corpus into stretches in each of `dupe_factor` passes.

    For each document and pass, the target length is drawn as in `draw_pairs`.

    Returns int64 [N, 5]: begin and end of the stretch, begin and end of the
    random sentences, all as positions in `corpus.sentence_ends`, and the
    target length without special tokens.
    """
    sentence_ends = corpus.sentence_ends.tolist()
    document_ends = corpus.document_ends.tolist()
    rows: list[int] = []
    for _ in range(dupe_factor):
        for document in range(corpus.num_documents):
            begin, last = document_ends[document : document + 2]
            target = target_length(
                max_seq_length - 3, short_seq_prob, generator
            )
            while begin < last:
                end = gather(sentence_ends, begin, last, target)
                start, stop = random_start(document_ends, document, generator)
                stop = gather(sentence_ends, start, stop, target - 1)
                rows += begin, end, start, stop, target
                begin = end
    return np.array(rows, np.int64).reshape(-1, 5)


def stretch_features(
    corpus: Corpus, stretches: np.ndarray
) -> dict[str, np.ndarray | tuple[np.ndarray, np.ndarray]]:
    """Returns features for `serialize_examples`; only the last is dense."""
    ends = corpus.sentence_ends
    features: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, begin, end in (
        ("", stretches[:, 0], stretches[:, 1]),
        ("random_", stretches[:, 2], stretches[:, 3]),
    ):
        features |= {
            f"{name}sentence_ids": _ragged(corpus.ids, ends[begin], ends[end]),
            f"{name}sentence_lengths": _ragged(np.diff(ends), begin, end),
        }
    return features | {"target_length": stretches[:, 4:]}


def _ragged(values, begins, ends):
    """Returns slices of `values`, padded with 0, and their lengths."""
    lengths = ends - begins
    columns = np.arange(lengths.max())
    slices = values.take(begins[:, None] + columns, mode="clip")
    return slices * (columns < lengths[:, None]), lengths
