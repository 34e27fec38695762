"""A block of documents -> serialized records."""

from __future__ import annotations

import collections
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_bert.pretraining.write.arrays_to_records import serialize_examples
from keras_bert.pretraining.write.config import V2_NAMES, PretrainingDataConfig
from keras_bert.pretraining.write.documents_to_sentences import (
    split_lines,
    split_sentences,
)
from keras_bert.pretraining.write.ids_to_pairs import draw_pairs
from keras_bert.pretraining.write.ids_to_stretches import (
    draw_stretches,
    stretch_features,
)
from keras_bert.pretraining.write.sentences_to_ids import Corpus, corpus_maker
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings

# Fewer are slower; with more, a worker needs over 1 GB of memory.
_INSTANCES_PER_CALL = 2000


class InstanceMaker:
    """Makes the records of one block after another, with the same graphs.

    They depend only on the block, its number and the config, so blocks can be
    made anywhere and in any order.
    """

    def __init__(self, tokenizer: BertTokenizer, config: PretrainingDataConfig):
        self.config = config
        self._special_ids = tokenizer.cls_id, tokenizer.sep_id
        self._corpus = corpus_maker(
            tokenizer,
            split_sentences if config.split_sentences else split_lines,
        )
        masker = MaskedLMMasker.from_config(
            config, tokenizer, config.max_predictions_per_seq
        )
        ids = tf.TensorSpec([None, config.max_seq_length], tf.int32)
        self._mask = tf.function(
            masker,
            input_signature=[
                {"input_ids": ids, "input_mask": ids},
                tf.TensorSpec([None, 3], tf.int64),
            ],
            autograph=False,
        )

    def records(
        self, number: int, documents: list[str], counts: collections.Counter
    ) -> Iterator[list[bytes]]:
        """Returns the shuffled records of block `number`, in lists.

        Random next sentences come from other documents of the same block.
        `counts["instances"]` is right when the call returns, the other counts
        when the iterator is exhausted.
        """
        config = self.config
        corpus = self._corpus(documents)
        counts["documents"] += corpus.num_documents
        counts["sentences"] += corpus.num_sentences
        counts["tokens"] += len(corpus.ids)
        # Python hashes the text of a seed alike everywhere.
        generator = random.Random(f"{config.random_seed}/{number}")
        rows = (draw_stretches if config.dynamic_masking else draw_pairs)(
            corpus,
            max_seq_length=config.max_seq_length,
            short_seq_prob=config.short_seq_prob,
            dupe_factor=config.dupe_factor,
            generator=generator,
        )
        order = np.random.default_rng(generator.getrandbits(64))
        rows = rows[order.permutation(len(rows))]
        counts["instances"] += len(rows)

        def serialized(begin):
            chunk = rows[begin : begin + _INSTANCES_PER_CALL]
            if config.dynamic_masking:
                features = stretch_features(corpus, chunk)
            else:
                features = self._masked(corpus, chunk, (number, begin), counts)
            return serialize_examples(features)

        return map(serialized, range(0, len(rows), _INSTANCES_PER_CALL))

    def _masked(self, corpus, pairs, position, counts):
        config = self.config
        number, begin = position
        features = _features(
            corpus, pairs, config.max_seq_length, *self._special_ids
        )
        # An instance's seed does not depend on the size of a call.
        seeds = np.full((len(pairs), 3), config.random_seed, np.int64)
        seeds[:, 1] = number
        seeds[:, 2] = begin + np.arange(len(pairs))
        masked = self._mask(
            {n: tf.constant(features[n]) for n in ("input_ids", "input_mask")},
            tf.constant(seeds),
        )
        features |= {name: value.numpy() for name, value in masked.items()}
        counts["random_next"] += int(pairs[:, 4].sum())
        counts["input_tokens"] += int(features["input_mask"].sum())
        counts["masked_tokens"] += int(features["masked_lm_weights"].sum())
        if config.use_v2_feature_names:
            features = {V2_NAMES.get(n, n): x for n, x in features.items()}
        return features


def instance_maker(
    vocab: tuple[str, ...],
    settings: TokenizerSettings,
    config: PretrainingDataConfig,
) -> InstanceMaker:
    """Returns an InstanceMaker, in a process that cannot get a tokenizer."""
    with tempfile.TemporaryDirectory() as folder:
        vocab_file = Path(folder) / "vocab.txt"
        vocab_file.write_bytes(("\n".join(vocab) + "\n").encode())
        return InstanceMaker(
            BertTokenizer.from_settings(vocab_file, settings), config
        )


def _features(corpus: Corpus, pairs, seq_length, cls_id, sep_id):
    """Packs pairs [B, 5] into [CLS] first [SEP] second [SEP], padded with 0."""
    begin, end, second_begin, second_end = pairs[:, :4, None].swapaxes(0, 1)
    middle = end - begin + 1  # position of the first [SEP]
    last = (
        middle + second_end - second_begin + 1
    )  # position of the second [SEP]
    columns = np.arange(seq_length)
    is_second = columns > middle
    places = columns + np.where(is_second, second_begin - middle, begin) - 1
    ids = corpus.ids.take(places, mode="clip")
    ids[:, 0] = cls_id
    ids[(columns == middle) | (columns == last)] = sep_id
    is_used = columns <= last
    return {
        "input_ids": ids * is_used,
        "input_mask": is_used.astype(np.int32),
        "segment_ids": (is_second & is_used).astype(np.int32),
        "next_sentence_labels": pairs[:, 4:].astype(np.int32),
    }
