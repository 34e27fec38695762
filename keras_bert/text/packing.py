"""Texts and pairs of texts -> features of the encoder."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.string_tensors import to_columns
from keras_bert.text.tokenizer import BertTokenizer


class Packed(NamedTuple):
    """Texts or pairs of texts, packed for the encoder.

    Attributes:
        features: Ragged `input_ids` and `segment_ids`, int32 [B, (tokens)],
            or [B, (W), (tokens)] for texts in windows.
        truncated: Whether a row lost tokens, bool [B].
    """

    features: dict[str, tf.RaggedTensor]
    truncated: tf.Tensor

    def how_read(self) -> dict[str, tf.Tensor]:
        """Returns what an answer says of each text; see `how_read`."""
        return how_read(self.features["input_ids"], self.truncated)


def how_read(
    input_ids: tf.RaggedTensor,
    truncated: tf.Tensor | None = None,
    rows: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Returns `truncated`, bool [B], and `num_tokens`, int32 [B], of each row.

    Takes `input_ids` [N, (tokens)], or [N, R, (tokens)] for examples of several
    sequences, whose special tokens count. `rows` [N] are the numbers of the
    rows of the examples, by default one row for each example. By default, no
    row is truncated.
    """
    lengths = input_ids.row_lengths(axis=-1)
    if isinstance(lengths, tf.RaggedTensor):
        lengths = tf.reduce_sum(lengths, axis=-1)
    num_tokens = tf.cast(lengths, tf.int32)
    if rows is not None:
        num_tokens = tf.math.segment_sum(num_tokens, rows)
    if truncated is None:
        truncated = tf.zeros_like(num_tokens, tf.bool)
    return {
        "truncated": tf.convert_to_tensor(truncated),
        "num_tokens": num_tokens,
    }


class BertPreprocessor(tf.Module):
    """Strings -> `input_ids`, `input_mask` and `segment_ids`.

    Training, evaluation and serving use the same object, so they cannot
    differ. It works eagerly, in `dataset.map` and in a SavedModel.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> preprocessor = keras_bert.BertPreprocessor(tokenizer, 16)
        >>> features = preprocessor(["the fox", "a dog"], ["good", "not bad"])
        >>> features["input_ids"].numpy()
        array([[ 2,  5,  9,  3, 25,  3,  0],
               [ 2,  6, 15,  3, 27, 26,  3]], dtype=int32)

    Attributes:
        tokenizer: The `BertTokenizer`.
        max_seq_length: The longest sequence; longer texts are cut.
    """

    def __init__(self, tokenizer: BertTokenizer, max_seq_length: int = 128):
        super().__init__(name="bert_preprocessor")
        if max_seq_length < 4:
            raise InputError(
                f"max_seq_length is {max_seq_length}, but must be at least 4: "
                "a pair has three special tokens."
            )
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length

    def __call__(self, first: Any, second: Any = None) -> dict[str, tf.Tensor]:
        """Packs texts, or pairs of texts, to int32 [B, S].

        S is the length of the longest row, so short texts cost little.

        Args:
            first: Strings [B]: a list, an array or a tensor. Or a tuple of two
                of them: the first and the second texts of pairs.
            second: The second texts of pairs.

        Raises:
            InputError: If these are not strings of one dimension, such as a
                list of pairs, or not as many second texts as first ones.
        """
        return pad(self.pack(*to_columns(first, second)).features)

    # A tf.function: making the graph of ragged ops takes longer than running
    # it. It makes a graph for each list that it gets, but one for all tensors.
    @functools.partial(tf.function, autograph=False, reduce_retracing=True)
    def pack(self, first: tf.Tensor, second: tf.Tensor | None = None) -> Packed:
        """Packs strings [B], or pairs of them, without padding."""
        return pack_segments(
            [self.tokenizer(texts) for texts in to_columns(first, second)],
            max_seq_length=self.max_seq_length,
            cls_id=self.tokenizer.cls_id,
            sep_id=self.tokenizer.sep_id,
        )


def pack_segments(
    segments: list[tf.RaggedTensor],
    *,
    max_seq_length: int,
    cls_id: int,
    sep_id: int,
) -> Packed:
    """Joins one or two ragged id batches into [CLS] first [SEP] second [SEP].

    The longer segment loses tokens first, at its end. A row has at most
    `max_seq_length` tokens.
    """
    budget = max_seq_length - 1 - len(segments)
    lengths = [ids.row_lengths() for ids in segments]
    truncated = tf.add_n(lengths) > budget
    # The result of dropping one token after another from the longer segment,
    # and from the second one if both are equally long.
    if len(segments) == 2:
        first, second = lengths
        keep = tf.maximum(budget - second, (budget + 1) // 2)
        lengths[0] = tf.minimum(first, keep)
        budget -= lengths[0]
    lengths[-1] = tf.minimum(lengths[-1], budget)
    columns = [
        tf.RaggedTensor.from_row_lengths(
            tf.fill([segments[0].nrows()], tf.constant(special, tf.int32)),
            tf.ones_like(lengths[0]),
            validate=False,
        )
        for special in (cls_id, sep_id)
    ]
    input_ids, segment_ids = columns[:1], [tf.zeros_like(columns[0])]
    for i, ids in enumerate(segments):
        part = tf.concat([_shorten(ids, lengths[i]), columns[1]], axis=1)
        input_ids.append(part)
        segment_ids.append(tf.ones_like(part) * i)
    features = {
        "input_ids": tf.concat(input_ids, axis=1),
        "segment_ids": tf.concat(segment_ids, axis=1),
    }
    return Packed(features, truncated)


def _shorten(ids, lengths):
    """Keeps the first `lengths` [B] ids of each row."""
    # As tf.ragged.boolean_mask, with a tenth of its operations.
    row_ids = ids.value_rowids()
    places = tf.range(tf.size(row_ids, tf.int64)) - tf.gather(
        ids.row_starts(), row_ids
    )
    kept = places < tf.gather(lengths, row_ids)
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(ids.flat_values, kept), lengths, validate=False
    )


def pad(
    packed: dict[str, tf.Tensor | tf.RaggedTensor],
) -> dict[str, tf.Tensor]:
    """Ragged features -> dense features [B, S], or [B, W, S].

    If they have no `input_mask`, it is 1 for every token.
    """
    mask = {"input_mask": tf.ones_like(packed["input_ids"])}
    # Google pads with 0, even if the id of [PAD] is another number.
    return {
        name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x
        for name, x in (mask | packed).items()
    }
