"""Counts sequences, tokens and floating-point operations of a batch."""

from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_bert.config import BertConfig


def count_work(
    features: Mapping[str, Any],
    config: BertConfig,
    *,
    num_labels: int,
    generator: BertConfig | None = None,
) -> dict[str, Any]:
    """Returns the `sequences`, `tokens` and training `flops` of a batch.

    These are model FLOPs, as in appendix B of PaLM (arXiv 2204.02311) and in
    section 5 of Megatron-LM (arXiv 2104.04473): two FLOPs for each multiply-add
    in the matrix products that BERT needs, once forward and twice backward.
    Embedding look-ups count as 0, and left-to-right attention counts in full.
    Padding and unused masked positions count as 0, so the time that a device
    spends on them lowers the device's utilization.

    Args:
        features: The inputs of the model. `input_mask` [..., S] is 0 at
            padding. At a token, it is the index of the token's sequence in the
            row, counted from 1.
        config: The config of the network.
        num_labels: The number of outputs of the layer after the pooler; 0 if
            the model has no pooler.
        generator: The config of ELECTRA's generator, if the model has one.

    Returns:
        The three numbers by name, as float32 scalars of the Keras backend.
    """
    mask = ops.cast(features["input_mask"], "int32")
    is_token = ops.cast(mask > 0, "float32")
    # Sequences of a row are numbered from 1.
    num_sequences = _sum(ops.max(mask, axis=-1))
    num_tokens = ops.sum(is_token)
    # Whether query and key are in the same sequence: [..., S, S].
    is_pair = ops.equal(mask[..., :, None], mask[..., None, :])
    products = _count_encoder(mask, is_token, is_pair, config)
    h = config.hidden_size
    if num_labels:
        products += num_sequences * (h * h + h * num_labels)
    if generator:
        products += num_tokens * (h * h + h)  # the head of the discriminator
        products += _count_encoder(mask, is_token, is_pair, generator)
    if "masked_lm_positions" in features:
        # Position 0 is [CLS], which is never masked.
        num_masked = _sum(features["masked_lm_positions"] > 0)
        h = (generator or config).hidden_size
        e = (generator or config).embedding_size or h
        products += num_masked * (h * e + e * config.vocab_size)
    flops = 2 * 3 * products
    return {"sequences": num_sequences, "tokens": num_tokens, "flops": flops}


def _count_encoder(
    mask: Any, is_token: Any, is_pair: Any, config: BertConfig
) -> Any:
    """Returns the number of multiply-adds of an encoder's matrix products."""
    num_tokens, h = ops.sum(is_token), config.hidden_size
    num_pairs = ops.sum(_sum(is_pair, axis=-1) * is_token)
    # The attention has 4 dense layers; the feed-forward has 2 or 3.
    num_dense = 2 + config.gated_feed_forward
    layer = num_tokens * (4 * h * h + num_dense * h * config.intermediate_size)
    num_layers = config.num_hidden_layers
    products = num_layers * layer
    if config.embedding_size:
        products += num_tokens * config.embedding_size * h
    if config.local_attention:
        places = ops.arange(ops.shape(mask)[-1])
        distances = ops.abs(places[:, None] - places[None, :])
        is_near = is_pair & (distances <= config.local_attention // 2)
        num_near = ops.sum(_sum(is_near, axis=-1) * is_token)
        num_full = -(-num_layers // config.global_attn_every_n_layers)
        products += (num_layers - num_full) * num_near * 2 * h
        num_layers = num_full
    return products + num_layers * num_pairs * 2 * h  # scores and context


def _sum(x: Any, axis: Any = None) -> Any:
    return ops.sum(ops.cast(x, "float32"), axis=axis)
