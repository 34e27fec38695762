"""Which tokens the masked LM has to guess, and what stands in their place."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.settings import setting
from keras_bert.text.row_random import (
    row_bits,
    to_integers,
    to_order,
    to_uniform,
)
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.whole_words import choose_spans, positions_of


@dataclasses.dataclass(frozen=True)
class MaskingConfig:
    """The numbers of a `MaskedLMMasker`; defaults are the paper's.

    Attributes:
        masked_lm_prob: Share of the tokens to be masked.
        mask_rate: Share of the tokens to be guessed that become [MASK].
        random_rate: Share of them that become a random one; the rest stay.
        do_whole_word_mask: Whether a word is masked with all its pieces.
        max_ngram_size: Most neighbouring words masked together; over 1 only
            with do_whole_word_mask.
    """

    masked_lm_prob: float = 0.15
    mask_rate: float = setting(0.8, minimum=0)
    random_rate: float = setting(0.1, minimum=0)
    do_whole_word_mask: bool = False
    max_ngram_size: int = 1

    def build_masker(
        self, tokenizer: BertTokenizer, max_predictions_per_seq: int
    ) -> MaskedLMMasker:
        """Returns a masker with these numbers."""
        numbers = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(MaskingConfig)
        }
        return MaskedLMMasker(
            tokenizer,
            max_predictions_per_seq=max_predictions_per_seq,
            **numbers,
        )


class MaskedLMMasker(tf.Module):
    """Chooses and replaces tokens (paper, 3.1 and appendix C.2).

    Of a text of n tokens, special ones counted, round(n * masked_lm_prob) are
    chosen, at least 1 and at most `max_predictions_per_seq`; never [CLS] or
    [SEP]. Of those, `mask_rate` become [MASK], `random_rate` a random id of
    the vocabulary, and the rest stay. With `do_whole_word_mask`, a word is
    chosen with all its pieces, or skipped where it would exceed the number;
    each of its pieces is still replaced on its own. With a `max_ngram_size`
    over 1, up to so many neighbouring words are chosen together, n of them
    with a weight of 1/n, and replaced alike (tensorflow/models, official/nlp).
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        *,
        max_predictions_per_seq: int = 20,
        masked_lm_prob: float = 0.15,
        mask_rate: float = 0.8,
        random_rate: float = 0.1,
        do_whole_word_mask: bool = False,
        max_ngram_size: int = 1,
    ):
        super().__init__(name="masked_lm_masker")
        if min(mask_rate, random_rate) < 0 or mask_rate + random_rate > 1:
            raise InputError(
                f"mask_rate {mask_rate} and random_rate {random_rate} must "
                "not be negative, and together at most 1; the paper has 0.8 "
                "and 0.1."
            )
        if not 0 < masked_lm_prob < 1:
            raise InputError(
                f"masked_lm_prob is {masked_lm_prob}, but must lie between 0 "
                "and 1; the paper has 0.15."
            )
        if max_ngram_size < 1 or (
            max_ngram_size > 1 and not do_whole_word_mask
        ):
            raise InputError(
                f"max_ngram_size is {max_ngram_size}, but must be at least 1, "
                "and over 1 only with whole-word masking; n-grams are of "
                "whole words."
            )
        self._max_predictions = max_predictions_per_seq
        self._masked_lm_prob = masked_lm_prob
        self._mask_rate = mask_rate
        self._random_rate = random_rate
        self._whole_word = do_whole_word_mask
        self._max_ngram_size = max_ngram_size
        self._mask_id = tokenizer.mask_id
        self._never_masked = (tokenizer.cls_id, tokenizer.sep_id)
        self._vocab_size = tokenizer.vocab_size
        self._continues_word = tf.constant(
            [t.startswith("##") for t in tokenizer.vocab]
        )

    def __call__(
        self, features: dict[str, tf.Tensor], seeds: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Masks a batch; the same seeds draw the same masks in any batch.

        `features` has `input_ids` and `input_mask`, int32 [B, S]; `seeds` are
        integers [B, any number], such as (seed, epoch, record). Returns all
        features with `input_ids` replaced and, added, int32
        `masked_lm_positions` and `masked_lm_ids` and float32
        `masked_lm_weights`, all [B, P], in the order of the text.
        """
        input_ids = features["input_ids"]
        seq_length = tf.shape(input_ids)[1]
        candidate = features["input_mask"] > 0
        for special in self._never_masked:
            candidate &= input_ids != special
        num_to_predict = self._num_to_predict(features["input_mask"])
        if self._whole_word:
            positions, drawn_at = choose_spans(
                candidate,
                tf.gather(self._continues_word, input_ids),
                num_to_predict,
                seeds,
                self._max_ngram_size,
                self._max_predictions,
            )
        else:
            positions = self._choose_tokens(candidate, num_to_predict, seeds)
            drawn_at = positions
        # So far, a place that is not needed holds the position seq_length.
        is_needed = positions < seq_length
        weights = tf.cast(is_needed, tf.int32)
        positions *= weights
        ids = tf.gather(input_ids, positions, batch_dims=1) * weights

        draw = to_uniform(row_bits(seeds, 1, drawn_at))
        random_ids = to_integers(
            row_bits(seeds, 2, positions), self._vocab_size
        )
        replaced = tf.where(
            draw < self._mask_rate,
            self._mask_id,
            tf.where(
                draw < self._mask_rate + self._random_rate, random_ids, ids
            ),
        )
        places = tf.cast(tf.where(is_needed), tf.int32)  # (row, prediction)
        return features | {
            "input_ids": tf.tensor_scatter_nd_update(
                input_ids,
                tf.stack(
                    [places[:, 0], tf.gather_nd(positions, places)], axis=1
                ),
                tf.gather_nd(replaced, places),
            ),
            "masked_lm_positions": positions,
            "masked_lm_ids": ids,
            "masked_lm_weights": tf.cast(weights, tf.float32),
        }

    def _num_to_predict(self, input_mask):
        # In float64, so that a half rounds to even as it does in Python.
        num_tokens = tf.cast(tf.reduce_sum(input_mask, axis=1), tf.float64)
        return tf.clip_by_value(
            tf.cast(tf.round(num_tokens * self._masked_lm_prob), tf.int32),
            1,
            self._max_predictions,
        )

    def _choose_tokens(self, candidate, num_to_predict, seeds):
        """Returns [B, P]: sorted positions, then S where there is no more.

        Two equal random numbers at the cut, in one row of ten million, make
        it one token more.
        """
        bits = row_bits(seeds, 0, tf.range(tf.shape(candidate)[1]))
        order = tf.where(candidate, to_order(bits), -1)
        # The P-th largest is the one to cut at, for all rows at once, where P
        # minus the number to predict are larger than all. Twice as fast as
        # tf.math.top_k, which sorts.
        num_predictions = self._max_predictions
        is_larger = tf.range(num_predictions) >= num_to_predict[:, None]
        cut = tf.raw_ops.NthElement(
            input=tf.concat(
                [order, tf.where(is_larger, tf.int32.max, -1)], axis=1
            ),
            n=num_predictions - 1,
            reverse=True,
        )
        return positions_of(
            candidate & (order >= cut[:, None]), num_predictions
        )
