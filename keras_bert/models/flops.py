"""What is in a batch: sequences, tokens, and the operations they take."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from keras_bert.config import BertConfig


def count_work(
    features: Mapping[str, tf.Tensor],
    config: BertConfig,
    *,
    num_labels: int,
    bilstm_size: int = 0,
    bilstm_input_size: int = 0,
    num_frozen_layers: int | None = None,
) -> dict[str, tf.Tensor]:
    """Counts `sequences`, `tokens` and the `flops` of training on them.

    These are model FLOPs, as in appendix B of PaLM (arXiv 2204.02311) and in
    section 5 of Megatron-LM (arXiv 2104.04473): two for each multiply-add of
    the matrix products that BERT needs, once forward and twice backward,
    however they are computed. Look-ups of embeddings count nothing, and a
    left-to-right attention counts in full. Padding is neither a token nor
    work, nor is an empty masked position: what a device spends on these
    lowers its utilization.

    Args:
        features: As the model takes them. `input_mask` [..., S] is 0 at
            padding; other numbers than 1 tell sequences of a row apart.
        config: The network.
        num_labels: Columns of the head on the pooled output; 0 where there
            is neither.
        bilstm_size: Of a two-layer BiLSTM on the tokens, in each direction.
        bilstm_input_size: Numbers that it reads of each token.
        num_frozen_layers: How many layers of an encoder that is not trained
            are computed: forward only.
    """
    mask = features["input_mask"]
    seq_length = tf.shape(mask)[-1]
    lengths = tf.math.bincount(
        tf.reshape(mask, [-1, seq_length]),
        minlength=seq_length + 1,
        maxlength=seq_length + 1,
        axis=-1,
        dtype=tf.float32,
    )[:, 1:]
    num_sequences = tf.math.count_nonzero(lengths, dtype=tf.float32)
    num_tokens = tf.reduce_sum(lengths)
    num_pairs = tf.reduce_sum(tf.square(lengths))  # query and key
    h = config.hidden_size
    # Query, key, value, output; the two layers of the feed-forward.
    layer = num_tokens * (4 * h * h + 2 * h * config.intermediate_size)
    layer += num_pairs * 2 * h  # scores and context
    if num_frozen_layers is None:
        trained, frozen = config.num_hidden_layers * layer, 0.0
    else:
        trained, frozen = 0.0, num_frozen_layers * layer
    # Two directions of four gates, which read the layer below and themselves.
    for input_size in (bilstm_input_size, 2 * bilstm_size):
        trained += num_tokens * (8 * bilstm_size * (input_size + bilstm_size))
    if num_labels:
        trained += num_sequences * (h * h + h * num_labels)
    if "masked_lm_positions" in features:
        # Position 0 is [CLS], which is never masked.
        num_masked = tf.math.count_nonzero(
            features["masked_lm_positions"], dtype=tf.float32
        )
        trained += num_masked * (h * h + h * config.vocab_size)
    return {
        "sequences": num_sequences,
        "tokens": num_tokens,
        "flops": 2 * (3 * trained + frozen),
    }
