"""Documents -> ids of sentences -> pairs, or stretches to draw pairs from.

Pairs are masked when they are written. From a stretch, each epoch of training
draws a new pair (`dynamic_masking`).
"""

import random
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.text.tokenizer import BertTokenizer

# Bounds the memory of the tokenizer's graph.
_CHARACTERS_PER_CALL = 500_000
# Bounds the memory of the records' arrays, in which every row is as long as the
# longest.
_MAX_SENTENCE_LENGTH = 10_000

# A dot after an initial or an abbreviation does not end the sentence.
_ABBREVIATION = (
    r"\b(\p{Lu}|Mr|Mrs|Ms|Dr|St|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Messrs"
    r"|Mme|Mlle|vs|etc|No|Nos|Vol|Fig|cf|e\.g|i\.e|ca|pp?)\.[\s]+"
)
_NO_END = "\ue000"  # private use: replaces the space after such a dot
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
    """All ids in one array, so that neighboring sentences are a slice.

    Sentence i is ids[sentence_ends[i]:sentence_ends[i + 1]]. Document d has the
    sentences document_ends[d] to document_ends[d + 1] - 1. No sentence and no
    document is empty.
    """

    ids: np.ndarray
    sentence_ends: np.ndarray
    document_ends: np.ndarray


def corpus_maker(
    tokenizer: BertTokenizer, *, by_punctuation: bool = False
) -> Callable[[list[str]], Corpus]:
    """Returns a function from documents to a Corpus; all calls share a graph.

    A sentence is a line or, with `by_punctuation`, what `split_sentences`
    returns. A sentence of more than 10,000 tokens is cut and counts as several.
    """

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    def tokenize(documents: Any) -> Any:
        if by_punctuation:
            sentences = split_sentences(documents)
        else:
            sentences = tf.strings.split(documents, "\n")
        ids = tokenizer(sentences.flat_values)
        return ids.flat_values, ids.row_lengths(), sentences.row_lengths()

    def make(documents: list[str]) -> Corpus:
        calls = np.cumsum([*map(len, documents)]) // _CHARACTERS_PER_CALL
        cuts = np.flatnonzero(np.diff(calls)) + 1
        chunks = np.split(np.array(documents, object), cuts)
        results = [
            [array.numpy() for array in tokenize(tf.constant(chunk))]
            for chunk in chunks
        ]
        ids, lengths, counts = map(np.concatenate, zip(*results, strict=True))
        ends = np.append(0, lengths).cumsum()
        # np.unique leaves out empty documents.
        document_ends = np.unique(ends[np.append(0, counts).cumsum()])
        more_ends = [
            np.arange(ends[i], ends[i + 1], _MAX_SENTENCE_LENGTH)
            for i in np.flatnonzero(lengths > _MAX_SENTENCE_LENGTH)
        ]
        ends = np.unique(np.concatenate([ends, *more_ends]))
        return Corpus(ids, ends, ends.searchsorted(document_ends))

    return make


def split_sentences(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], split by punctuation.

    A blank line ends a sentence. A line break alone does not, because text is
    often wrapped. Punctuation can mislead: then two sentences are joined or one
    is split, but no text is lost.
    """
    texts = tf.strings.regex_replace(documents, r"\n\s*\n\s*", "\x00")
    texts = tf.strings.regex_replace(texts, r"\s+", " ")
    texts = tf.strings.regex_replace(texts, _ABBREVIATION, rf"\1.{_NO_END}")
    texts = tf.strings.regex_replace(texts, _END, "\\1\n\\2")
    texts = tf.strings.regex_replace(texts, _END_WITHOUT_SPACE, "\\1\n")
    texts = tf.strings.regex_replace(texts, _NO_END, " ")
    texts = tf.strings.regex_replace(texts, r"\x00", "\n")
    sentences = tf.strings.split(texts, "\n")
    stripped = tf.strings.strip(sentences.flat_values)
    sentences = sentences.with_flat_values(stripped)
    return tf.ragged.boolean_mask(sentences, sentences != "")


def draw_rows(
    corpus: Corpus, config: PretrainingDataConfig, generator: random.Random
) -> np.ndarray:
    """Returns pairs from `dupe_factor` passes over the corpus (paper, A.2).

    The rules are as in create_pretraining_data.py of google-research/bert. For
    each document and pass, the target length is that of a full sequence or,
    with the probability `short_seq_prob`, a random shorter length. Sentences
    are gathered up to the target length. A random number of these sentences,
    from the front, forms the first segment. With a probability of 0.5, the rest
    forms the second segment. Otherwise the second segment is taken from another
    document, and the rest is put back for the next pair. If a pair is too long,
    its longer segment loses tokens at either end.

    Returns int64 [N, 5]: begin and end of the first segment, begin and end of
    the second segment, all as positions in `corpus.ids`, and 1 for a random
    second segment, else 0.

    With `dynamic_masking`, the corpus is cut into stretches with such target
    lengths. A row then contains begin and end of the stretch, begin and end of
    the random sentences, all as positions in `corpus.sentence_ends`, and the
    target length without special tokens.
    """
    # Lists and bisection are faster here than NumPy. The rows are flat, because
    # tuples would keep the garbage collector busy.
    ends = corpus.sentence_ends.tolist()
    document_ends = corpus.document_ends.tolist()
    budget = config.max_seq_length - 3  # [CLS], [SEP] and [SEP]
    uniform = generator.random
    rows: list[int] = []
    for document in [*range(len(document_ends) - 1)] * config.dupe_factor:
        target = budget
        if uniform() < config.short_seq_prob:
            target = 2 + int(uniform() * (budget - 1))
        begin, last = document_ends[document], document_ends[document + 1]
        while begin < last:
            end = _gather(ends, begin, last, target)
            if config.dynamic_masking:
                start, stop = _random_start(document_ends, document, generator)
                stop = _gather(ends, start, stop, target - 1)
                rows += begin, end, start, stop, target
                begin = end
                continue
            middle = begin + 1
            if end > middle:
                middle += int(uniform() * (end - middle))
            first = ends[begin], ends[middle]
            is_random = end == begin + 1 or uniform() < 0.5
            if is_random:
                start, stop = _random_start(document_ends, document, generator)
                rest = target - (first[1] - first[0])
                stop = _gather(ends, start, stop, rest)
                second = ends[start], ends[stop]
                end = middle  # puts back the sentences that are not used
            else:
                second = ends[middle], ends[end]
            rows += _truncate(first, second, budget, generator)
            rows.append(is_random)
            begin = end
    return np.array(rows, np.int64).reshape(-1, 5)


def _gather(ends: list[int], begin: int, last: int, target: int) -> int:
    """Returns the index after the last sentence of a sequence.

    A sequence begins with the sentence `begin`, and gets more sentences until
    it has `target` tokens or the next sentence is `last`.
    """
    # The search stops before `last`, so that the result is at most `last`.
    return bisect_left(ends, ends[begin] + target, begin + 1, last)


def _random_start(
    document_ends: list[int], document: int, generator: random.Random
) -> tuple[int, int]:
    """Returns a random sentence of another document, and the document's end."""
    for _ in range(10):  # If there is just one document, take it.
        other = int(generator.random() * (len(document_ends) - 1))
        if other != document:
            break
    begin, last = document_ends[other], document_ends[other + 1]
    return begin + int(generator.random() * (last - begin)), last


def _truncate(
    first: tuple[int, int],
    second: tuple[int, int],
    budget: int,
    generator: random.Random,
) -> tuple[int, ...]:
    """Returns both spans; the longer is cut at its ends until both fit."""
    length, other = first[1] - first[0], second[1] - second[0]
    if length + other <= budget:
        return *first, *second
    # This equals removing one token at a time from the longer segment, or from
    # the second segment if both are equally long.
    keep = min(length, max(budget - other, (budget + 1) // 2))
    return (
        *_shorten(first[0], length, keep, generator),
        *_shorten(second[0], other, min(other, budget - keep), generator),
    )


def _shorten(
    begin: int, length: int, keep: int, generator: random.Random
) -> tuple[int, int]:
    if length > keep:
        # Each lost token is at the front or at the end with an even chance.
        begin += generator.getrandbits(length - keep).bit_count()
    return begin, begin + keep


def pack_pairs(
    ids: tf.Tensor,
    begin: tf.Tensor,
    length: tf.Tensor,
    second_begin: tf.Tensor,
    second_length: tf.Tensor,
    *,
    tokenizer: BertTokenizer,
    max_seq_length: int,
) -> dict[str, tf.Tensor]:
    """Returns pairs as [CLS] first [SEP] second [SEP], padded with 0.

    Takes ids, int32 [any number], and for each segment its position in the ids
    and its length, integers [B]. Returns `input_ids`, `input_mask` and
    `segment_ids`, int32 [B, max_seq_length].
    """
    column = tf.range(max_seq_length, dtype=begin.dtype)
    middle = length[:, None] + 1  # position of the first [SEP]
    last = middle + second_length[:, None] + 1  # and of the second
    is_second = column > middle
    places = column - 1
    places += tf.where(
        is_second, second_begin[:, None] - middle, begin[:, None]
    )
    places = tf.clip_by_value(places, 0, tf.size(ids, begin.dtype) - 1)
    input_ids = tf.where(column == 0, tokenizer.cls_id, tf.gather(ids, places))
    is_end = (column == middle) | (column == last)
    input_ids = tf.where(is_end, tokenizer.sep_id, input_ids)
    input_mask = tf.cast(column <= last, tf.int32)
    return {
        "input_ids": input_ids * input_mask,
        "input_mask": input_mask,
        "segment_ids": tf.cast(is_second, tf.int32) * input_mask,
    }


def stretch_features(
    corpus: Corpus, stretches: np.ndarray
) -> dict[str, np.ndarray | tuple[np.ndarray, np.ndarray]]:
    """Returns the features of `STRETCH_NAMES` for `serialize_examples`."""
    begin, end, random_begin, random_end, _ = stretches.T
    ends = corpus.sentence_ends
    lengths = np.diff(ends)
    return {
        "sentence_ids": _slices(corpus.ids, ends[begin], ends[end]),
        "sentence_lengths": _slices(lengths, begin, end),
        "random_sentence_ids": _slices(
            corpus.ids, ends[random_begin], ends[random_end]
        ),
        "random_sentence_lengths": _slices(lengths, random_begin, random_end),
        "target_length": stretches[:, 4:],
    }


def _slices(
    values: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns slices of `values`, padded with 0, and their lengths."""
    lengths = ends - begins
    columns = np.arange(lengths.max())
    slices = values.take(begins[:, None] + columns, mode="clip")
    return slices * (columns < lengths[:, None]), lengths
