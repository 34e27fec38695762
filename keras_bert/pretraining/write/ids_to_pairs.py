"""Sentences -> pairs of segments, the second one the next or a random one."""

from __future__ import annotations

import random
from bisect import bisect_left

import numpy as np

from keras_bert.errors import InputError
from keras_bert.pretraining.write.sentences_to_ids import Corpus


def draw_pairs(
    corpus: Corpus,
    *,
    max_seq_length: int,
    short_seq_prob: float,
    dupe_factor: int,
    generator: random.Random,
) -> np.ndarray:
    """Goes through the corpus `dupe_factor` times (paper, A.2).

    Sentences are gathered until they fill a sequence, or a shorter one with
    `short_seq_prob`. The first of them, a random number, are the first
    segment. With an even chance the rest is the second; else sentences of
    another document are, and the rest is used for the next pair. Of pairs
    that are too long, the longer segment loses tokens, at either end.

    Returns int64 [N, 5]: begin and end of the first segment, begin and end of
    the second, all places in `corpus.ids`, and 1 where it is a random one.
    """
    # Lists and bisection: a pair costs a few microseconds, and most of a
    # corpus' time goes elsewhere.
    sentence_ends = corpus.sentence_ends.tolist()
    document_ends = corpus.document_ends.tolist()
    pairs = []  # flat: tuples would keep the garbage collector busy
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


def check_max_seq_length(max_seq_length: int) -> None:
    """Raises InputError where no pair fits."""
    if max_seq_length < 5:
        raise InputError(
            f"max_seq_length is {max_seq_length}; two sentences with their "
            "special tokens need at least 5."
        )


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
            end = middle  # the sentences that are not used are put back
        else:
            second = ends[middle], ends[end]
        pairs += _truncate(first, second, budget, generator)
        pairs.append(is_random)
        begin = end


def target_length(
    budget: int, short_seq_prob: float, generator: random.Random
) -> int:
    """`budget` tokens, or with `short_seq_prob` a random number from 2 on."""
    if generator.random() < short_seq_prob:
        return 2 + int(generator.random() * (budget - 1))
    return budget


def gather(ends: list[int], begin: int, last: int, target: int) -> int:
    """The end of at least one sentence, and of `target` tokens or `last`."""
    # Looked up to before `last`: where all before it are too few, it is last.
    return bisect_left(ends, ends[begin] + target, begin + 1, last)


def random_start(
    document_ends: list[int], document: int, generator: random.Random
) -> tuple[int, int]:
    """A random sentence of another document, and the end of that document."""
    for _ in range(10):  # so many tries, where there is just one
        other = int(generator.random() * (len(document_ends) - 1))
        if other != document:
            break
    begin, last = document_ends[other], document_ends[other + 1]
    return begin + int(generator.random() * (last - begin)), last


def _truncate(first, second, budget, generator):
    """The longer one loses tokens, at its front or its end, until both fit."""
    length, other = first[1] - first[0], second[1] - second[0]
    if length + other <= budget:
        return *first, *second
    # What popping one token after the other comes to; of two equally long
    # ones the second loses.
    keep = min(length, max(budget - other, (budget + 1) // 2))
    return (
        *_shorten(first[0], length, keep, generator),
        *_shorten(second[0], other, min(other, budget - keep), generator),
    )


def _shorten(begin, length, keep, generator):
    if length > keep:
        # Each token lost is one of the front with an even chance.
        begin += generator.getrandbits(length - keep).bit_count()
    return begin, begin + keep
