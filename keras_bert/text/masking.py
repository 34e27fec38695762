"""Chooses the tokens that the masked LM predicts, and replaces them.

The random numbers of a row do not depend on its batch. (They would with
`tf.random.stateless_uniform`, which takes one seed for a whole batch.) The
generator is SplitMix64 (Steele, Lea and Flood 2014), which is a function of a
counter.
"""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.masking_config import MaskingConfig
from keras_bert.text.tokenizer import BertTokenizer

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class MaskedLMMasker(tf.Module):
    """Chooses and replaces tokens (paper, 3.1 and appendix C.2).

    In a text of n tokens, including special tokens, round(n * masked_lm_prob)
    tokens are chosen, at least 1 and at most `max_predictions_per_seq`, but
    never [CLS] or [SEP]. Of the chosen tokens, the share `mask_rate` becomes
    [MASK], the share `random_rate` becomes a random id of the vocabulary, and
    the rest stay unchanged.

    With `do_whole_word_mask`, a word is chosen with all its pieces, or skipped
    if its pieces would exceed the number of tokens to choose. Each chosen piece
    is still replaced independently. A word is a piece with all following pieces
    that continue it: pieces with ## or, in other vocabularies, pieces without
    the mark for a space. After [CLS], [SEP] or a cut, any piece begins a word.

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
        config: MaskingConfig | None = None,
        **settings: Any,
    ):
        """Takes a `MaskingConfig`, or its fields as keyword arguments."""
        super().__init__(name="masked_lm_masker")
        config = MaskingConfig.checked(config)
        self._config = dataclasses.replace(config, **settings)
        self._max_predictions = self._config.max_predictions_per_seq
        self._mask_id = tokenizer.mask_id
        self._never_masked = (tokenizer.cls_id, tokenizer.sep_id)
        self._vocab_size = tokenizer.vocab_size
        self._continues_word = tf.constant(tokenizer.continues_word)

    def __call__(
        self, features: dict[str, tf.Tensor], seeds: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Returns a masked batch; a row's mask does not depend on other rows.

        Args:
            features: `input_ids` and `input_mask`, integers [B, S]. Other
                features are returned unchanged.
            seeds: Integers [B, any number], such as (seed, epoch, record) for
                each row.

        Returns:
            The features with masked `input_ids`, and three more, all [B, P] in
            text order: `masked_lm_positions` and `masked_lm_ids`, int32, and
            `masked_lm_weights`, float32.

        Raises:
            InputError: If the ids or the seeds are not integers, or do not have
                one row for each text.
        """
        input_ids = _integers(features["input_ids"], "input_ids")
        input_ids = tf.cast(input_ids, tf.int32)
        seeds = _integers(seeds, "seeds")
        if not seeds.shape[:1].is_compatible_with(input_ids.shape[:1]):
            raise InputError(
                f"There are {seeds.shape[0]} rows of seeds and "
                f"{input_ids.shape[0]} texts; give each text a row of seeds."
            )
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
            continues_word = tf.gather(self._continues_word, input_ids)
            chosen = _choose_words(
                candidate, continues_word, num_to_predict, seeds
            )
        else:
            chosen = self._choose_tokens(candidate, num_to_predict, seeds)
        positions = self._positions_of(chosen)
        # So far, an unused prediction has the position seq_length.
        is_used = positions < seq_length
        weights = tf.cast(is_used, tf.int32)
        positions *= weights
        ids = tf.gather(input_ids, positions, batch_dims=1) * weights

        draw = to_uniform(row_bits(seeds, 1, positions))
        bits = row_bits(seeds, 2, positions)
        random_ids = to_integers(bits, self._vocab_size)
        mask_rate = self._config.mask_rate
        changed_rate = mask_rate + self._config.random_rate
        replaced = tf.where(draw < changed_rate, random_ids, ids)
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

    def _choose_tokens(
        self, candidate: tf.Tensor, num_to_predict: tf.Tensor, seeds: tf.Tensor
    ) -> tf.Tensor:
        """Returns which tokens are chosen, bool [B, S].

        If the last chosen token and the next token have the same random number,
        both are chosen. This happens in about one row in ten million.
        """
        bits = row_bits(seeds, 0, tf.range(tf.shape(candidate)[1]))
        order = tf.where(candidate, to_order(bits), -1)
        # A row with n predictions gets P - n extra values that are larger than
        # all others, so the cut is the P-th largest value. This is twice as
        # fast as tf.math.top_k, which sorts.
        is_larger = tf.range(self._max_predictions) >= num_to_predict[:, None]
        more = tf.where(is_larger, tf.int32.max, -1)
        cut = tf.raw_ops.NthElement(
            input=tf.concat([order, more], axis=1),
            n=self._max_predictions - 1,
            reverse=True,
        )
        return candidate & (order >= cut[:, None])

    def _positions_of(self, chosen: tf.Tensor) -> tf.Tensor:
        """Bool [B, S] -> the first P positions that are True, padded with S."""
        num_rows, seq_length = tf.unstack(tf.shape(chosen))
        places = tf.where(chosen)  # (row, position)
        return tf.RaggedTensor.from_value_rowids(
            tf.cast(places[:, 1], tf.int32),
            places[:, 0],
            nrows=tf.cast(num_rows, tf.int64),
            validate=False,
        ).to_tensor(seq_length, shape=[None, self._max_predictions])


def _integers(values: Any, name: str) -> tf.Tensor:
    tensor = tf.convert_to_tensor(values)
    if not tensor.dtype.is_integer or tensor.shape.rank not in (None, 2):
        raise InputError(
            f"{name} has dtype {tensor.dtype.name} and shape {tensor.shape}, "
            "but must be integers, one row per text."
        )
    return tensor


def _choose_words(
    candidate: tf.Tensor,
    continues_word: tf.Tensor,
    num_to_predict: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Returns the tokens of randomly chosen whole words, bool [B, S].

    The words are tried in a random order, until every row has enough tokens or
    no word is left.
    """
    seq_length = tf.shape(candidate)[1]  # at least the number of words
    before = tf.pad(candidate[:, :-1], [[0, 0], [1, 0]])
    begins = candidate & ~(continues_word & before)
    word = tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1  # [B, S]
    # The last index is for the tokens outside of words.
    word = tf.where(candidate, word, seq_length)
    size = seq_length + 1
    sizes = tf.math.bincount(word, minlength=size, maxlength=size, axis=-1)
    sizes = sizes[:, :-1]  # [B, S], 0 where no word has the index

    words = tf.range(seq_length)
    order = to_order(row_bits(seeds, 0, words))
    order = tf.where(sizes > 0, order, order.dtype.max)  # no word: last
    order = tf.argsort(order, axis=1)
    sizes = tf.gather(sizes, order, batch_dims=1)
    num_words = tf.reduce_max(tf.math.count_nonzero(sizes, 1, dtype=tf.int32))

    def not_done(step: tf.Tensor, total: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        return (step < num_words) & tf.reduce_any(total < num_to_predict)

    def take(step: tf.Tensor, total: tf.Tensor, is_taken: tf.Tensor) -> tuple:
        size = sizes[:, step]
        fits = (size > 0) & (total + size <= num_to_predict)
        takes = fits[:, None] & (words == order[:, step, None])
        return step + 1, total + tf.where(fits, size, 0), is_taken | takes

    start = (0, tf.zeros_like(num_to_predict), tf.zeros_like(candidate))
    is_taken = tf.while_loop(not_done, take, start, parallel_iterations=1)[2]
    is_taken = tf.pad(is_taken, [[0, 0], [0, 1]])
    return tf.gather(is_taken, word, batch_dims=1)


def row_bits(seeds: tf.Tensor, stream: int, columns: tf.Tensor) -> tf.Tensor:
    """Returns 64 random bits for each column of each row, uint64 [B, columns].

    Args:
        seeds: Integers [B, any number], such as (seed, epoch, record).
        stream: The index of a stream; streams are independent of each other.
        columns: Integers [columns] or [B, columns]; the same column of the
            same row always has the same bits.
    """
    seeds = tf.cast(seeds, tf.uint64)
    key = tf.fill([tf.shape(seeds)[0]], np.uint64(stream))
    for seed in tf.unstack(seeds, axis=1):
        key = _mix(key + _GOLDEN) ^ seed
    key = _mix(key + _GOLDEN)[:, None]
    return _mix(key + (tf.cast(columns, tf.uint64) + 1) * _GOLDEN)


def to_uniform(bits: tf.Tensor) -> tf.Tensor:
    """Random bits -> float32, at least 0 and below 1."""
    return tf.cast(_right(bits, 40), tf.float32) * 2.0**-24


def to_integers(bits: tf.Tensor, limit: int | tf.Tensor) -> tf.Tensor:
    """Random bits -> int32, at least 0 and below `limit`."""
    limit = tf.cast(limit, tf.uint64)
    return tf.cast(_right(_right(bits, 32) * limit, 32), tf.int32)


def to_order(bits: tf.Tensor) -> tf.Tensor:
    """Random bits -> int32 that are at least 0, as keys for sorting."""
    return tf.cast(_right(bits, 33), tf.int32)


def _mix(x: tf.Tensor) -> tf.Tensor:
    x = (x ^ _right(x, 30)) * _FACTORS[0]
    x = (x ^ _right(x, 27)) * _FACTORS[1]
    return x ^ _right(x, 31)


def _right(x: tf.Tensor, places: int) -> tf.Tensor:
    return tf.bitwise.right_shift(x, np.uint64(places))
