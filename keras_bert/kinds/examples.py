"""Rows of a task, encoded for the network."""

import dataclasses
import functools
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.kinds import network_calls
from keras_bert.text.packing import pad, truncation_info

# The label of a token that training ignores.
IGNORED = -1


@dataclasses.dataclass(frozen=True)
class Examples:
    """The ragged inputs of a network, and the labels.

    Attributes:
        features: The inputs `input_ids` and `segment_ids`, int32 [N, (tokens)].
            If an example consists of C sequences, they are [N, C, (tokens)]. C
            may differ between examples, as the number of windows does. If the
            sequences are the windows of several texts, the further input
            `num_windows`, int32 [N, texts], is the number of windows of each
            text.
        rows: The index of each example's row, in ascending order. A long text
            may make several examples.
        labels: The labels by output, [N, ...] or ragged [N, (tokens)]; empty if
            the rows have no labels. Training ignores the id `IGNORED`.
        weights: The weights of the labels by output, float32 with the shape of
            the labels; see `batch` for outputs without weights.
        truncated: For each row, whether one of its texts was truncated, bool
            [rows]; None if no text was truncated.
        are_choices: Whether the sequences of an example are choices, which
            `pack_choices` packs for the network.
        tokens: Whatever the kind's `decode` must know about the tokens.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> preprocessor = keras_bert.BertPreprocessor(tokenizer)
        >>> examples = keras_bert.kinds.Examples(
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

    features: network_calls.Tensors
    rows: np.ndarray
    labels: network_calls.Tensors = dataclasses.field(default_factory=dict)
    weights: dict[str, tf.Tensor] = dataclasses.field(default_factory=dict)
    truncated: np.ndarray | None = None
    are_choices: bool = False
    tokens: Any = None

    @functools.cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The size of each example, as three arrays [N].

        These are the number of tokens of the longest sequence, the number of
        all tokens, and the number of sequences.
        """
        with tf.init_scope():  # even while a graph of batches is built
            splits = self.features["input_ids"].nested_row_splits
            *outer, ends = (x.numpy() for x in splits)
        lengths = np.diff(ends)
        # An example without an axis of sequences is one sequence.
        bounds = outer[-1] if outer else np.arange(len(ends))
        longest = np.maximum.reduceat(lengths, bounds[:-1])
        return longest, np.diff(ends[bounds]), np.diff(bounds)

    @functools.cached_property
    def packed(self) -> bool | None:
        """Whether one row holds all choices of an example.

        None if the sequences of the examples are not choices.
        """
        if not self.are_choices:
            return None
        _, totals, _ = self._sizes
        return bool(network_calls.choices_fit(totals.sum(), len(totals)))

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens in the rows of each example, with padding, [N].

        The example with the most tokens determines the shape of its batch,
        because no other example has more rows or a longer row: the number of
        rows differs only if texts are read in windows, and an example with more
        windows than texts has a full window.
        """
        longest, totals, counts = self._sizes
        return totals if self.packed else longest * counts

    def cut(self, order: np.ndarray, batch_size: int) -> list[np.ndarray]:
        """Cuts `order` into batches that need a bounded amount of memory.

        `order` lists the indices of examples, shortest example first. A batch
        has `batch_size` examples, or fewer if their texts have several windows.
        """
        if self.are_choices:
            return np.split(order, range(batch_size, len(order), batch_size))
        max_rows, counts = batch_size, self._sizes[2]
        if network_calls.NUM_WINDOWS in self.features:
            max_rows *= self.features[network_calls.NUM_WINDOWS].shape[1]
        batches = []
        while len(order):
            # All examples are padded to as many rows as the last example.
            num_rows = counts[order[:batch_size]]
            num_rows *= np.arange(1, len(num_rows) + 1)
            size = max(1, np.searchsorted(num_rows, max_rows, "right"))
            batches.append(order[:size])
            order = order[size:]
        return batches

    def truncation_info(self) -> list[dict[str, Any]]:
        """Returns `truncated` and `num_tokens` for the answer to each row.

        `num_tokens` counts the tokens of all examples of the row, including
        special tokens.
        """
        values = truncation_info(
            self.features["input_ids"], self.truncated, self.rows
        )
        return to_rows(values)

    def grouped(self, size: int, labels: network_calls.Tensors) -> "Examples":
        """Joins every `size` successive examples of one text into one."""
        assert self.truncated is not None
        features = network_calls.group_texts(self.features, size)
        return Examples(
            features,
            np.arange(len(self.rows) // size),
            labels,
            truncated=np.any(self.truncated.reshape(-1, size), axis=1),
            are_choices=network_calls.NUM_WINDOWS not in features,
        )

    def batch(self, indices: tf.Tensor) -> tuple[dict[str, tf.Tensor], ...]:
        """Returns features, labels and weights of the examples at `indices`.

        If `weights` lacks an output, its labels get the weight 1. Of integer
        labels, padding and labels that are `IGNORED` get the weight 0.
        """
        features, labels, weights = (
            {name: tf.gather(x, indices) for name, x in tensors.items()}
            for tensors in (self.features, self.labels, self.weights)
        )
        if self.packed is not None:
            num_examples = features["input_ids"].nrows()
            sequences = {name: x.values for name, x in features.items()}
            num_choices = sequences["input_ids"].nrows() // num_examples
            features = network_calls.pack_choices(
                sequences, num_choices, self.packed
            )
        for name, values in labels.items():
            if isinstance(values, tf.RaggedTensor):
                values = values.to_tensor(IGNORED)
            if name not in weights and values.dtype.is_integer:
                weights[name] = tf.cast(values != IGNORED, tf.float32)
                values = tf.maximum(values, 0)
            elif name not in weights:
                weights[name] = tf.ones_like(values, tf.float32)
            labels[name] = values
        return pad(features), labels, weights


def to_rows(columns: network_calls.Tensors) -> list[dict[str, Any]]:
    """Returns a dict of JSON values for each row of tensors [B, ...]."""
    lists = {
        name: [y.decode() for y in x.numpy()]
        if x.dtype == tf.string
        else x.numpy().tolist()
        for name, x in columns.items()
    }
    rows = zip(*lists.values(), strict=True)
    return [dict(zip(lists, row, strict=True)) for row in rows]
