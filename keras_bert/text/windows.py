"""Long texts -> overlapping windows that the encoder can read."""

from typing import NamedTuple

import tensorflow as tf


class WindowLayout(NamedTuple):
    """The spans of N windows in their texts, text after text.

    Attributes:
        numbers: The index of each window in its text, int64 [B, (windows)].
        text_numbers: The index of each window's text, int64 [N], in ascending
            order.
        starts, ends: The index in the text of each window's first token, and
            the index after its last token, int64 [N].
    """

    numbers: tf.RaggedTensor
    text_numbers: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor

    def places(self, row_starts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the index of each window's tokens in the tokens of all texts.

        `row_starts` [B] is the index of each text's first token. The result is
        int64 [N, (tokens)].
        """
        begins = tf.gather(row_starts, self.text_numbers)
        return tf.ragged.range(self.starts + begins, self.ends + begins)

    def surround(
        self, first: int, values: tf.Tensor, last: int
    ) -> tf.RaggedTensor:
        """Returns each window's values between the ids `first` and `last`."""
        first, last = (
            tf.RaggedTensor.from_tensor(tf.fill([tf.size(self.starts), 1], x))
            for x in (first, last)
        )
        values = tf.RaggedTensor.from_row_lengths(
            values, self.ends - self.starts, validate=False
        )
        return tf.concat([first, values, last], axis=1)


def lay_out_windows(
    lengths: tf.Tensor,
    *,
    size: int | tf.Tensor,
    step: int,
    max_num_windows: int = 0,
    last_is_full: bool = True,
) -> WindowLayout:
    """Returns the windows of texts that have `lengths` tokens, int64 [B].

    A window has up to `size` tokens; `size` is one number for all texts, or
    int64 [B]. Each window starts `step` tokens after the start of the window
    before, or `size` tokens after it if `step` exceeds `size`. If the last
    window would reach beyond the end of the text, it begins earlier; without
    `last_is_full`, it is shorter instead. A text without tokens has one window.
    """
    sizes = tf.zeros_like(lengths) + size
    steps = tf.minimum(sizes, step)
    num_windows = 1 + (tf.maximum(lengths - sizes, 0) + steps - 1) // steps
    if max_num_windows:
        num_windows = tf.minimum(num_windows, max_num_windows)
    numbers = tf.ragged.range(num_windows)  # [B, (windows)]
    text_numbers = numbers.value_rowids()
    lengths, sizes, steps = (
        tf.gather(x, text_numbers) for x in (lengths, sizes, steps)
    )  # [N]
    starts = numbers.values * steps
    if last_is_full:
        starts = tf.minimum(starts, tf.maximum(lengths - sizes, 0))
    ends = tf.minimum(starts + sizes, lengths)
    return WindowLayout(numbers, text_numbers, starts, ends)
