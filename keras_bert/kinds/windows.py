"""Texts that are longer than the network, which reads them in windows."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.kinds.settings import WindowSettings
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer

# The feature that says how many windows each text of an example has.
NUM_WINDOWS = "num_windows"


def text_preprocessor(
    settings: WindowSettings, tokenizer: BertTokenizer
) -> BertPreprocessor:
    """Returns what packs texts, in windows if the settings say so."""
    return BertPreprocessor(
        tokenizer,
        settings.max_seq_length,
        doc_stride=settings.doc_stride if settings.in_windows else 0,
        max_num_windows=settings.max_num_windows,
    )


def join_windows(
    windows: dict[str, tf.RaggedTensor], num_texts: int
) -> dict[str, tf.Tensor | tf.RaggedTensor]:
    """Puts the windows of the C texts of an example one after the other.

    Takes `input_ids` and `segment_ids` [B*C, (W), (tokens)] of
    `BertPreprocessor.pack`. Returns the ragged inputs of
    `build_embedder(window_pooling=...)`: int32 [B, (M), (tokens)], and
    `num_windows`, int32 [B, C], the number of windows of each text.
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
