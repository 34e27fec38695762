"""Documents -> pairs of sentences with masks -> records (paper, A.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from keras_bert.data.corpus import Corpus
from keras_bert.data.records import write_records
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer

_INSTANCES_PER_CALL = 1_000


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig:
    """How text becomes records; names and defaults are Google's.

    Attributes:
        max_seq_length: Length of a sequence with its special tokens.
        max_predictions_per_seq: Most masked tokens of a sequence.
        random_seed: The same seed makes the same records.
        dupe_factor: How often the text is gone through, each time with other
            pairs and masks.
        masked_lm_prob: Share of the tokens to be masked.
        short_seq_prob: Share of the sequences made shorter than they could
            be, so that short ones are seen too.
        do_whole_word_mask: Whether a word is masked with all its pieces.
    """

    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    random_seed: int = 12345
    dupe_factor: int = 10
    masked_lm_prob: float = 0.15
    short_seq_prob: float = 0.1
    do_whole_word_mask: bool = False

    def __post_init__(self):
        if self.max_seq_length < 5:
            raise ValueError(
                f"max_seq_length is {self.max_seq_length}; two sentences with "
                "their special tokens need at least 5."
            )


def create_pretraining_data(
    lines: Iterable[str],
    output_files: list[str | Path],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig | None = None,
) -> dict[str, int]:
    """Writes masked sentence pairs as records that `pretrain` reads.

    Args:
        lines: One sentence a line, a blank line between documents.
        output_files: TFRecord files, filled in turn; appear when all are
            whole.
        tokenizer: Makes the ids; its vocabulary is that of the model.
        config: Sizes and rates; by default those of the paper.

    Returns:
        Counts: documents, sentences, tokens, instances.

    Raises:
        ValueError: Where the text holds no sentence.
    """
    config = config or PretrainingDataConfig()
    corpus = Corpus.from_lines(lines, tokenizer)
    random = np.random.default_rng(config.random_seed)
    pairs = np.array(
        [
            pair
            for _ in range(config.dupe_factor)
            for document in range(corpus.num_documents)
            for pair in _pairs(corpus, document, config, random)
        ],
        np.int64,
    )
    random.shuffle(pairs)
    num_instances = write_records(
        output_files, _masked_batches(corpus, pairs, tokenizer, config)
    )
    return {
        "documents": corpus.num_documents,
        "sentences": len(corpus.sentence_ends) - 1,
        "tokens": len(corpus.ids),
        "instances": num_instances,
    }


def _pairs(corpus, document, config, random) -> Iterator[tuple[int, ...]]:
    """Yields (first begin, first end, second begin, second end, is random).

    All but the last are places in `corpus.ids`.
    """
    ends = corpus.sentence_ends
    budget = config.max_seq_length - 3
    sentence = corpus.document_ends[document]
    last = corpus.document_ends[document + 1]
    target = _target_length(budget, config, random)
    begin = sentence
    while sentence < last:
        sentence += 1
        if sentence < last and ends[sentence] - ends[begin] < target:
            continue
        num_sentences = sentence - begin
        middle = begin + 1
        if num_sentences > 1:
            middle = begin + random.integers(1, num_sentences)
        first = ends[begin], ends[middle]
        is_random = num_sentences == 1 or random.random() < 0.5
        if is_random:
            second = _random_second(
                corpus, document, target - (first[1] - first[0]), random
            )
            sentence = middle  # the sentences not used are put back
        else:
            second = ends[middle], ends[sentence]
        yield (*_truncate(first, second, budget, random), is_random)
        begin = sentence
        target = _target_length(budget, config, random)


def _target_length(budget, config, random):
    if random.random() < config.short_seq_prob:
        return random.integers(2, budget + 1)
    return budget


def _random_second(corpus, document, target, random):
    """Takes sentences of another document, from a random one of them on."""
    for _ in range(10):
        other = random.integers(corpus.num_documents)
        if other != document:
            break
    ends = corpus.sentence_ends
    begin = random.integers(*corpus.document_ends[other : other + 2])
    end = begin + 1
    last = corpus.document_ends[other + 1]
    while end < last and ends[end] - ends[begin] < target:
        end += 1
    return ends[begin], ends[end]


def _truncate(first, second, budget, random):
    """The longer one loses tokens, at its front or its end, until both fit."""
    lengths = first[1] - first[0], second[1] - second[0]
    # What popping one token after the other comes to; of two equally long
    # ones the second loses.
    keep_first = min(lengths[0], max(budget - lengths[1], (budget + 1) // 2))
    keep_second = min(lengths[1], budget - keep_first)
    places = []
    for (begin, end), keep in ((first, keep_first), (second, keep_second)):
        num_lost = end - begin - keep
        front = random.binomial(num_lost, 0.5)
        places += [begin + front, begin + front + keep]
    return places


def _masked_batches(corpus, pairs, tokenizer, config):
    mask = tf.function(
        MaskedLMMasker(
            tokenizer,
            max_predictions_per_seq=config.max_predictions_per_seq,
            masked_lm_prob=config.masked_lm_prob,
            whole_word=config.do_whole_word_mask,
        ),
        autograph=False,
    )
    progress = tqdm(
        total=len(pairs), desc="Writing", unit=" instances", disable=None
    )
    for i in range(0, len(pairs), _INSTANCES_PER_CALL):
        batch = pairs[i : i + _INSTANCES_PER_CALL]
        features = mask(
            _features(corpus, batch, tokenizer, config.max_seq_length),
            tf.constant([config.random_seed, i]),
        )
        yield {name: value.numpy() for name, value in features.items()}
        progress.update(len(batch))
    progress.close()


def _features(corpus, pairs, tokenizer, seq_length):
    input_ids = np.zeros((len(pairs), seq_length), np.int32)
    input_mask = np.zeros_like(input_ids)
    segment_ids = np.zeros_like(input_ids)
    for row, (begin, end, second_begin, second_end, _) in enumerate(pairs):
        middle = 2 + end - begin
        last = middle + second_end - second_begin
        input_ids[row, 0] = tokenizer.cls_id
        input_ids[row, 1 : middle - 1] = corpus.ids[begin:end]
        input_ids[row, middle - 1] = tokenizer.sep_id
        input_ids[row, middle:last] = corpus.ids[second_begin:second_end]
        input_ids[row, last] = tokenizer.sep_id
        input_mask[row, : last + 1] = 1
        segment_ids[row, middle : last + 1] = 1
    return {
        "input_ids": tf.constant(input_ids),
        "input_mask": tf.constant(input_mask),
        "segment_ids": tf.constant(segment_ids),
        "next_sentence_labels": tf.constant(pairs[:, 4:], tf.int32),
    }
