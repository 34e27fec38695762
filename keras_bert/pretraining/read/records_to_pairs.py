"""Pairs and masks drawn while training, in graph, anew in every epoch."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.pretraining.write.ids_to_pairs import check_max_seq_length
from keras_bert.pretraining.write.ids_to_stretches import FEATURES
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.row_random import row_bits, to_integers, to_uniform
from keras_bert.text.tokenizer import BertTokenizer


class InstanceDrawer(tf.Module):
    """Turns stretches of sentences into masked pairs, packed and padded.

    Where the first segment ends, whether the second is the rest of the
    stretch or the random sentences, which tokens are lost where both are too
    long, and the masks: all is drawn from (`random_seed`, epoch, record), so
    it does not depend on the batch or on what runs in parallel. By the rules
    of `draw_pairs`, but that sentences not used are not put back: another
    epoch uses them.
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        masker: MaskedLMMasker,
        *,
        seq_length: int = 128,
        random_seed: int = 12345,
    ):
        super().__init__(name="instance_drawer")
        check_max_seq_length(seq_length)
        self._special_ids = tokenizer.cls_id, tokenizer.sep_id
        self._masker = masker
        self._seq_length = seq_length
        self._random_seed = random_seed

    def __call__(
        self, serialized: tf.Tensor, epochs: tf.Tensor, records: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Draws from records [B] without masks; `epochs`, `records` int64 [B].

        Returns what `MaskedLMMasker` does, with `segment_ids` [B, S] and
        `next_sentence_labels` [B, 1].
        """
        features = tf.io.parse_example(
            serialized,
            {n: tf.io.RaggedFeature(tf.int64) for n in FEATURES},
        )
        features = {
            name: tf.cast(ragged.to_tensor(), tf.int32)
            for name, ragged in features.items()
        }
        seed = tf.fill(tf.shape(epochs), tf.cast(self._random_seed, tf.int64))
        seeds = tf.stack([seed, epochs, records], axis=1)
        return self._masker(self._pairs(features, seeds), seeds)

    def _pairs(self, features, seeds):
        lengths = features["sentence_lengths"]  # [B, sentences]
        num_sentences = tf.math.count_nonzero(lengths, axis=1, dtype=tf.int32)
        # Other streams than the masker's, which are 0 to 3.
        bits = row_bits(seeds, 4, tf.range(2))
        num_first = 1 + to_integers(
            bits[:, 0], tf.maximum(num_sentences - 1, 1)
        )
        is_random = (num_sentences == 1) | (to_uniform(bits[:, 1]) < 0.5)
        sentence = tf.range(tf.shape(lengths)[1])
        total = tf.reduce_sum(lengths, axis=1)
        first = tf.reduce_sum(
            tf.where(sentence < num_first[:, None], lengths, 0), axis=1
        )
        second = tf.where(
            is_random,
            _gathered(
                features["random_sentence_lengths"],
                features["target_length"][:, 0] - first,
            ),
            total - first,
        )

        # The longer segment loses tokens; see `pairs._truncate`.
        budget = self._seq_length - 3
        keep_first = tf.minimum(
            first, tf.maximum(budget - second, (budget + 1) // 2)
        )
        keep_second = tf.minimum(second, budget - keep_first)
        begin = _lost_in_front(seeds, 5, first - keep_first)
        second_begin = tf.where(is_random, 0, first) + _lost_in_front(
            seeds, 6, second - keep_second
        )
        return self._pack(
            features, is_random, begin, keep_first, second_begin, keep_second
        )

    def _pack(self, features, is_random, begin, first, second_begin, second):
        cls_id, sep_id = self._special_ids
        ids, random_ids = (
            features["sentence_ids"],
            features["random_sentence_ids"],
        )
        size = tf.maximum(tf.shape(ids)[1], tf.shape(random_ids)[1])
        both = tf.stack(
            [
                tf.pad(x, [[0, 0], [0, size - tf.shape(x)[1]]])
                for x in (ids, random_ids)
            ],
            axis=1,
        )
        both = tf.reshape(both, [-1, 2 * size])  # first the stretch
        column = tf.range(self._seq_length)
        middle = first[:, None] + 1  # position of the first [SEP]
        last = middle + second[:, None] + 1  # of the second
        second_begin += tf.where(is_random, size, 0)
        places = tf.where(
            column < middle,
            begin[:, None] + column - 1,
            second_begin[:, None] + column - middle - 1,
        )
        input_ids = tf.gather(
            both, tf.clip_by_value(places, 0, 2 * size - 1), batch_dims=1
        )
        input_ids = tf.where(column == 0, cls_id, input_ids)
        is_end = (column == middle) | (column == last)
        input_ids = tf.where(is_end, sep_id, input_ids)
        input_mask = tf.cast(column <= last, tf.int32)
        return {
            "input_ids": input_ids * input_mask,
            "input_mask": input_mask,
            "segment_ids": tf.cast(column > middle, tf.int32) * input_mask,
            "next_sentence_labels": tf.cast(is_random[:, None], tf.int32),
        }


def _gathered(lengths, target):
    """Tokens [B] of the first sentences: at least one, and `target` or all."""
    before = tf.cumsum(lengths, axis=1, exclusive=True)
    is_taken = (before < target[:, None]) | (before == 0)
    return tf.reduce_sum(tf.where(is_taken, lengths, 0), axis=1)


def _lost_in_front(seeds, stream, num_lost):
    """How many of the tokens lost are in front: each with an even chance."""
    column = tf.range(tf.reduce_max(num_lost))
    is_front = to_uniform(row_bits(seeds, stream, column)) < 0.5
    is_lost = column < num_lost[:, None]
    return tf.math.count_nonzero(is_front & is_lost, axis=1, dtype=tf.int32)
