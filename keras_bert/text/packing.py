"""Texts and pairs of texts -> what the encoder reads."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.text.tokenizer import BertTokenizer


class BertPreprocessor(tf.Module):
    """Tokenizes and packs: strings -> `input_ids`, `input_mask`, `segment_ids`.

    One object for training, evaluation and serving, so that they cannot
    differ; works eagerly, in `dataset.map` and in a SavedModel.

    Attributes:
        tokenizer: The `BertTokenizer`.
        seq_length: No sequence is longer; what is longer is cut.
    """

    def __init__(self, tokenizer: BertTokenizer, seq_length: int = 128):
        super().__init__(name="bert_preprocessor")
        if seq_length < 4:
            raise ValueError(
                f"seq_length is {seq_length}; a pair with its special tokens "
                "does not fit into fewer than 4 positions."
            )
        self.tokenizer = tokenizer
        self.seq_length = seq_length

    def __call__(
        self, first: tf.Tensor, second: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Packs strings [B], or pairs of them, to int32 [B, S].

        S is the length of the longest row, so short texts cost little.
        """
        return pad(self.pack(first, second))

    def pack(
        self, first: tf.Tensor, second: tf.Tensor | None = None
    ) -> dict[str, tf.RaggedTensor]:
        """As a call, but ragged: `input_ids` and `segment_ids` only."""
        ids = [self.tokenizer(first)]
        if second is not None:
            ids.append(self.tokenizer(second))
        return pack_segments(
            ids,
            seq_length=self.seq_length,
            cls_id=self.tokenizer.cls_id,
            sep_id=self.tokenizer.sep_id,
        )


def pack_segments(
    segments: list[tf.RaggedTensor],
    *,
    seq_length: int,
    cls_id: int,
    sep_id: int,
) -> dict[str, tf.RaggedTensor]:
    """Joins one or two ragged id batches into [CLS] first [SEP] second [SEP].

    The longer segment loses tokens first, at its end. Returns ragged
    `input_ids` and `segment_ids` [B, (tokens)] of at most `seq_length`.
    """
    budget = seq_length - 1 - len(segments)
    lengths = [ids.row_lengths() for ids in segments]
    # What dropping one token after the other, always of the longer segment,
    # comes to; of two equally long ones the second loses.
    if len(segments) == 2:
        first, second = lengths
        keep = tf.maximum(budget - second, (budget + 1) // 2)
        lengths[0] = tf.minimum(first, keep)
        budget -= lengths[0]
    lengths[-1] = tf.minimum(lengths[-1], budget)
    segments = [
        tf.ragged.boolean_mask(
            ids, tf.ragged.range(ids.row_lengths()) < length[:, tf.newaxis]
        )
        for ids, length in zip(segments, lengths, strict=True)
    ]
    input_ids, segment_ids = tf_text.combine_segments(segments, cls_id, sep_id)
    return {"input_ids": input_ids, "segment_ids": segment_ids}


def pad(packed: dict[str, tf.RaggedTensor]) -> dict[str, tf.Tensor]:
    """Ragged features -> dense ones [B, S] with their `input_mask`."""
    input_ids = packed["input_ids"]
    return {
        # Google's features are padded with 0, whatever the id of [PAD].
        "input_ids": input_ids.to_tensor(),
        "input_mask": tf.ones_like(input_ids).to_tensor(),
        "segment_ids": packed["segment_ids"].to_tensor(),
    }
