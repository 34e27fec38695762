"""Examples of several texts, each of which has windows of its own."""

from __future__ import annotations

import tensorflow as tf

# The feature that says how many windows each text has.
NUM_WINDOWS = "num_windows"


def join_windows(
    windows: dict[str, tf.RaggedTensor], num_texts: int
) -> dict[str, tf.Tensor | tf.RaggedTensor]:
    """Puts the windows of the texts of an example one after the other.

    Takes `input_ids` and `segment_ids` [B*C, (W), (tokens)] of
    `WindowPreprocessor.pack`. Returns the ragged inputs of
    `build_embedder(window_pooling=...)`:

        input_ids, segment_ids: int32 [B, (M), (tokens)], all windows of the
            texts of an example.
        num_windows: int32 [B, C], the number of windows of each text.
    """
    counts = windows["input_ids"].row_lengths()
    counts = tf.reshape(counts, [-1, num_texts])  # [B, C]
    joined: dict[str, tf.Tensor | tf.RaggedTensor] = {
        name: tf.RaggedTensor.from_row_lengths(
            x.values, tf.reduce_sum(counts, axis=1), validate=False
        )
        for name, x in windows.items()
    }
    return joined | {NUM_WINDOWS: tf.cast(counts, tf.int32)}
