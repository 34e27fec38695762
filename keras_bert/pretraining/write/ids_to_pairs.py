"""Sentences -> pairs of segments for next-sentence prediction."""

from __future__ import annotations

import random
from bisect import bisect_left

import numpy as np

from keras_bert.pretraining.write.sentences_to_ids import Corpus


def draw_pairs(
    corpus: Corpus,
    *,
    max_seq_length: int,
    short_seq_prob: float,
    dupe_factor: int,
    generator: random.Random,
) -> np.ndarray:
    """Draws pairs in `dupe_factor` passes over the corpus (paper, A.2).

    The rules are those of create_pretraining_data.py in google-research/bert.
    For each document and pass, the target length is a full sequence or, with
    `short_seq_prob`, a random shorter one. Sentences are gathered up to the
    target. A random number of them, from the front, is the first segment.
    With an even chance, the rest is the second segment. Otherwise it is taken
    from another document, and the rest is put back for the next pair. If a
    pair is too long, its longer segment loses tokens at either end.

    Returns int64 [N, 5]: begin and end of the first segment, begin and end of
    the second one, all as positions in `corpus.ids`, and 1 for a random
    second segment.
    """
    # Lists and bisection are faster here than NumPy.
    sentence_ends = corpus.sentence_ends.tolist()
    document_ends = corpus.document_ends.tolist()
    pairs: list[
        int
    ] = []  # flat, because tuples would keep the garbage collector busy
    for _ in range(dupe_factor):
        for document in range(corpus.num_documents):
            _draw_from_document(
                sentence_ends,
                document_ends,
                document,
                max_seq_length - 3,  # [CLS], [SEP] and [SEP]
                short_seq_prob,
                generator,
                pairs,
            )
    return np.array(pairs, np.int64).reshape(-1, 5)


def _draw_from_document(
    ends, document_ends, document, budget, short_seq_prob, generator, pairs
):
    uniform = generator.random
    begin, last = document_ends[document], document_ends[document + 1]
    target = target_length(budget, short_seq_prob, generator)
    while begin < last:
        end = gather(ends, begin, last, target)
        middle = begin + 1
        if end > middle:
            middle += int(uniform() * (end - middle))
        first = ends[begin], ends[middle]
        is_random = end == begin + 1 or uniform() < 0.5
        if is_random:
            start, stop = random_start(document_ends, document, generator)
            stop = gather(ends, start, stop, target - (first[1] - first[0]))
            second = ends[start], ends[stop]
            end = middle  # puts back the sentences that are not used
        else:
            second = ends[middle], ends[end]
        pairs += _truncate(first, second, budget, generator)
        pairs.append(is_random)
        begin = end


def target_length(
    budget: int, short_seq_prob: float, generator: random.Random
) -> int:
    """Returns a length in tokens: `budget`, or a random shorter one.

    The probability of the shorter one, which is 2 or more, is
    `short_seq_prob`.
    """
    if generator.random() < short_seq_prob:
        return 2 + int(generator.random() * (budget - 1))
    return budget


def gather(ends: list[int], begin: int, last: int, target: int) -> int:
    """Returns the end of the sentences that a sequence takes.

    It takes one at least, and more until it has `target` tokens or is at
    `last`.
    """
    # The search stops before `last`, so that the result is at most `last`.
    return bisect_left(ends, ends[begin] + target, begin + 1, last)


def random_start(
    document_ends: list[int], document: int, generator: random.Random
) -> tuple[int, int]:
    """Returns a random sentence of another document, and the end of that."""
    for _ in range(10):  # If there is just one document, take it.
        other = int(generator.random() * (len(document_ends) - 1))
        if other != document:
            break
    begin, last = document_ends[other], document_ends[other + 1]
    return begin + int(generator.random() * (last - begin)), last


def _truncate(first, second, budget, generator):
    """Shortens the longer segment, at its front or end, until both fit."""
    length, other = first[1] - first[0], second[1] - second[0]
    if length + other <= budget:
        return *first, *second
    # Equal to removing one token at a time from the longer segment, or from
    # the second one if both are equally long.
    keep = min(length, max(budget - other, (budget + 1) // 2))
    return (
        *_shorten(first[0], length, keep, generator),
        *_shorten(second[0], other, min(other, budget - keep), generator),
    )


def _shorten(begin, length, keep, generator):
    if length > keep:
        # Each lost token is at the front or at the end with an even chance.
        begin += generator.getrandbits(length - keep).bit_count()
    return begin, begin + keep
