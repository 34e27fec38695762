"""Packs the choices of an example into one row, or one row each."""

from __future__ import annotations

import tensorflow as tf

# Attention compares all tokens of a row, also those of different texts. Up
# to this size, that takes no longer than the padding that is saved.
TOKENS_PER_SHARED_ROW = 128


def may_share_rows(num_tokens, num_examples):
    """Returns whether the choices of so many examples are short enough."""
    return num_tokens <= TOKENS_PER_SHARED_ROW * num_examples


def pack_choices(
    texts: dict[str, tf.RaggedTensor],
    num_choices: int | tf.Tensor,
    shares_rows: bool | None = None,
) -> dict[str, tf.RaggedTensor]:
    """Packs the choices of an example into one row if they are short.

    With a row for each choice, a batch [B, C, S] is padded to its longest
    choice. If one row holds all C choices, one after the other, shorter
    choices need no padding. Choices share rows if the rows then have up to 128
    tokens on average. A batch of a data set does as all of its examples do,
    which `shares_rows` says.

    Takes `input_ids` and `segment_ids` [B*C, (tokens)] of
    `BertPreprocessor.pack`. Returns the ragged inputs of
    `build_multiple_choice(packed=True)`, with R rows of K choices for each
    example, where K is C or 1 and R * K = C:

        input_ids, segment_ids: int32 [B, R, (tokens)].
        input_mask: int32 [B, R, (tokens)], the number of a token's choice in
            its row, from 1.
        position_ids: int32 [B, R, (tokens)], from 0 in each choice.
        cls_positions: int32 [B, R, (K)], the first token of each choice.
    """
    input_ids = texts["input_ids"]
    num_choices = tf.cast(num_choices, tf.int64)
    lengths = input_ids.row_lengths()  # [B*C]
    num_examples = tf.size(lengths, tf.int64) // num_choices
    if shares_rows is None:
        shares_rows = may_share_rows(tf.reduce_sum(lengths), num_examples)
    row_size = tf.where(shares_rows, num_choices, 1)  # K
    rows = tf.reshape(lengths, [-1, row_size])  # [B*R, K]

    def to_examples(values, row_lengths):
        """Splits the values of all rows into int32 [B, R, (values)]."""
        values = tf.RaggedTensor.from_row_lengths(
            tf.cast(values, tf.int32), row_lengths, validate=False
        )
        return tf.RaggedTensor.from_uniform_row_length(
            values, num_choices // row_size
        )

    tokens = {name: x.flat_values for name, x in texts.items()} | {
        "input_mask": input_ids.value_rowids() % row_size + 1,
        "position_ids": tf.ragged.range(lengths).flat_values,
    }
    num_tokens = tf.reduce_sum(rows, axis=1)
    begins = tf.cumsum(rows, axis=1, exclusive=True)
    return {name: to_examples(x, num_tokens) for name, x in tokens.items()} | {
        "cls_positions": to_examples(
            tf.reshape(begins, [-1]), tf.ones_like(num_tokens) * row_size
        )
    }
