"""Chooses the tokens that the masked LM predicts, and replaces them."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.masking_config import MaskingConfig
from keras_bert.text.row_random import (
    row_bits,
    to_integers,
    to_order,
    to_uniform,
)
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.whole_words import choose_spans, positions_of


class MaskedLMMasker(tf.Module):
    """Chooses and replaces tokens (paper, 3.1 and appendix C.2).

    In a text of n tokens, counting special tokens, round(n * masked_lm_prob)
    tokens are chosen, at least 1 and at most `max_predictions_per_seq`, but
    never [CLS] or [SEP]. The share `mask_rate` of them becomes [MASK], the
    share `random_rate` becomes a random id of the vocabulary, and the rest
    stay.

    With `do_whole_word_mask`, a word is chosen with all its pieces, or skipped
    if it would exceed the number. Each piece is still replaced by itself. With
    a `max_ngram_size` over 1, up to that many neighbouring words are chosen
    together, n words with a weight of 1/n, and all are replaced the same way
    (tensorflow/models, official/nlp).

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> features = keras_bert.BertPreprocessor(tokenizer)(["a lazy dog"])
        >>> masker = keras_bert.text.MaskedLMMasker(
        ...     tokenizer, max_predictions_per_seq=3, masked_lm_prob=0.4
        ... )
        >>> masked = masker(features, seeds=tf.constant([[7, 0]]))
        >>> masked["masked_lm_weights"].numpy()
        array([[1., 1., 0.]], dtype=float32)
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        *,
        max_predictions_per_seq: int = 20,
        **settings: Any,
    ):
        """Takes the fields of `MaskingConfig` as settings."""
        super().__init__(name="masked_lm_masker")
        self._config = config = MaskingConfig(**settings)
        if config.mask_rate + config.random_rate > 1 or (
            min(config.mask_rate, config.random_rate) < 0
        ):
            raise InputError(
                f"mask_rate is {config.mask_rate} and random_rate is "
                f"{config.random_rate}, but both must be at least 0 and their "
                "sum at most 1; the paper has 0.8 and 0.1."
            )
        if not 0 < config.masked_lm_prob < 1:
            raise InputError(
                f"masked_lm_prob is {config.masked_lm_prob}, but must be "
                "between 0 and 1; the paper has 0.15."
            )
        if config.max_ngram_size < 1 or (
            config.max_ngram_size > 1 and not config.do_whole_word_mask
        ):
            raise InputError(
                f"max_ngram_size is {config.max_ngram_size}, but must be 1, or "
                "more with do_whole_word_mask: n-grams consist of whole words."
            )
        self._max_predictions = max_predictions_per_seq
        self._mask_id = tokenizer.mask_id
        self._never_masked = (tokenizer.cls_id, tokenizer.sep_id)
        self._vocab_size = tokenizer.vocab_size
        self._continues_word = tf.constant(
            [t.startswith("##") for t in tokenizer.vocab]
        )

    @classmethod
    def from_config(
        cls,
        config: MaskingConfig,
        tokenizer: BertTokenizer,
        max_predictions_per_seq: int,
    ) -> MaskedLMMasker:
        """Returns a masker with the settings of a `MaskingConfig`."""
        names = [field.name for field in dataclasses.fields(MaskingConfig)]
        return cls(
            tokenizer,
            max_predictions_per_seq=max_predictions_per_seq,
            **{name: getattr(config, name) for name in names},
        )

    def __call__(
        self, features: dict[str, tf.Tensor], seeds: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Masks a batch; a row's mask depends on its seeds, not on the batch.

        Args:
            features: `input_ids` and `input_mask`, int32 [B, S]; any other
                feature is passed on.
            seeds: Integers [B, any number], such as (seed, epoch, record).

        Returns:
            The features with masked `input_ids`, and int32
            `masked_lm_positions` and `masked_lm_ids` and float32
            `masked_lm_weights`, all [B, P], in the order of the text.
        """
        input_ids = features["input_ids"]
        seq_length = tf.shape(input_ids)[1]
        candidate = features["input_mask"] > 0
        for special in self._never_masked:
            candidate &= input_ids != special
        # In float64, a half rounds to even as in Python.
        num_tokens = tf.reduce_sum(features["input_mask"], axis=1)
        share = self._config.masked_lm_prob * tf.cast(num_tokens, tf.float64)
        num_to_predict = tf.clip_by_value(
            tf.cast(tf.round(share), tf.int32), 1, self._max_predictions
        )
        if self._config.do_whole_word_mask:
            positions, drawn_at = choose_spans(
                candidate,
                tf.gather(self._continues_word, input_ids),
                num_to_predict,
                seeds,
                self._config.max_ngram_size,
                self._max_predictions,
            )
        else:
            positions = self._choose_tokens(candidate, num_to_predict, seeds)
            drawn_at = positions
        # Until here, an unused prediction has the position seq_length.
        is_used = positions < seq_length
        weights = tf.cast(is_used, tf.int32)
        positions *= weights
        ids = tf.gather(input_ids, positions, batch_dims=1) * weights

        draw = to_uniform(row_bits(seeds, 1, drawn_at))
        random_ids = to_integers(
            row_bits(seeds, 2, positions), self._vocab_size
        )
        mask_rate, random_rate = (
            self._config.mask_rate,
            self._config.random_rate,
        )
        replaced = tf.where(draw < mask_rate + random_rate, random_ids, ids)
        replaced = tf.where(draw < mask_rate, self._mask_id, replaced)
        used = tf.where(is_used)  # (row, prediction)
        places = tf.cast(tf.gather_nd(positions, used), tf.int64)
        return features | {
            "input_ids": tf.tensor_scatter_nd_update(
                input_ids,
                tf.stack([used[:, 0], places], axis=1),
                tf.gather_nd(replaced, used),
            ),
            "masked_lm_positions": positions,
            "masked_lm_ids": ids,
            "masked_lm_weights": tf.cast(weights, tf.float32),
        }

    def _choose_tokens(self, candidate, num_to_predict, seeds):
        """Returns [B, P]: sorted positions, padded with S.

        Two equal random numbers at the cut add a token, in about one row of
        ten million.
        """
        bits = row_bits(seeds, 0, tf.range(tf.shape(candidate)[1]))
        order = tf.where(candidate, to_order(bits), -1)
        # Each row gets P minus its number of predictions extra values that are
        # larger than all others, so that the cut is the P-th largest value in
        # every row. Twice as fast as tf.math.top_k, which sorts.
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
