"""Rows of a task, encoded for the network."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.text.packing import pad

# The label of a token that is not learned.
IGNORED = -1


@dataclasses.dataclass(frozen=True)
class Examples:
    """The inputs of the network, ragged, and the labels.

    Attributes:
        features: `input_ids` and `segment_ids`, int32 [N, (tokens)], or the
            features of `pack_choices`, whose examples hold several sequences.
        rows: The number of the row of each example, in rising order. A long
            text makes several examples.
        labels: By output, [N, ...] or ragged [N, (tokens)]; empty if the rows
            have no labels. The id `IGNORED` is not learned.
        weights: By output, float32 in the shape of its labels; 1 if absent.
        truncated: Whether a text of the row was truncated, bool [rows]; None
            if no text was.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> preprocessor = keras_bert.BertPreprocessor(tokenizer)
        >>> examples = keras_bert.Examples(
        ...     preprocessor.pack(
        ...         tf.constant(["a good film", "a dog"])
        ...     ).features,
        ...     rows=np.arange(2),
        ...     labels={"logits": tf.constant([1, 0])},
        ... )
        >>> features, labels, weights = examples.batch(tf.constant([1]))
        >>> tokenizer.tokens(features["input_ids"][0])
        ['[CLS]', 'a', 'dog', '[SEP]']
    """

    features: dict[str, tf.RaggedTensor]
    rows: np.ndarray
    labels: dict[str, tf.Tensor | tf.RaggedTensor] = dataclasses.field(
        default_factory=dict
    )
    weights: dict[str, tf.Tensor] = dataclasses.field(default_factory=dict)
    truncated: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray:
        """The length of each example, or of its longest sequence, [N]."""
        lengths = self.features["input_ids"].row_lengths(axis=-1)
        if isinstance(lengths, tf.RaggedTensor):
            lengths = tf.reduce_max(lengths, axis=-1)
        return lengths.numpy()

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of all sequences."""
        lengths = self.features["input_ids"].row_lengths(axis=-1)
        return float(tf.reduce_mean(tf.cast(lengths, tf.float64)))

    def how_read(self) -> list[dict[str, Any]]:
        """Returns what an answer says of each row that it was given.

        `truncated`, and `num_tokens`, with special tokens and in all examples
        of the row.
        """
        values = how_read(self.features["input_ids"], self.rows, self.truncated)
        columns = (x.numpy().tolist() for x in values.values())
        return [
            dict(zip(values, row, strict=True))
            for row in zip(*columns, strict=True)
        ]

    def batch(self, indices: tf.Tensor) -> tuple[dict[str, tf.Tensor], ...]:
        """Returns features, labels and weights of the examples at `indices`."""
        features = pad(
            {name: tf.gather(x, indices) for name, x in self.features.items()}
        )
        labels, weights = {}, {}
        for name, values in self.labels.items():
            values = tf.gather(values, indices)
            if isinstance(values, tf.RaggedTensor):
                values = values.to_tensor(IGNORED)
            if name in self.weights:
                weights[name] = tf.gather(self.weights[name], indices)
            elif values.dtype.is_integer:
                weights[name] = tf.cast(values != IGNORED, tf.float32)
                values = tf.maximum(values, 0)
            else:
                weights[name] = tf.ones_like(values, tf.float32)
            labels[name] = values
        return features, labels, weights


def how_read(
    input_ids: tf.RaggedTensor,
    rows: tf.Tensor | np.ndarray,
    truncated: tf.Tensor | np.ndarray | None = None,
) -> dict[str, tf.Tensor]:
    """Returns `truncated` and `num_tokens` of each row, from its examples.

    Takes `input_ids` [N, (tokens)], or [N, R, (tokens)] for examples that hold
    several sequences, and the number of the row of each example, [N].
    """
    lengths = input_ids.row_lengths(axis=-1)
    if isinstance(lengths, tf.RaggedTensor):
        lengths = tf.reduce_sum(lengths, axis=-1)
    num_tokens = tf.math.segment_sum(tf.cast(lengths, tf.int32), rows)
    if truncated is None:
        truncated = tf.zeros_like(num_tokens, tf.bool)
    return {
        "truncated": tf.convert_to_tensor(truncated),
        "num_tokens": num_tokens,
    }
