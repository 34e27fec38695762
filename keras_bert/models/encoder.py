"""The encoder: token ids -> a vector for each token and for each text."""

from typing import Any

import keras

from keras_bert.config import BertConfig, check_config
from keras_bert.layers.embeddings import BertEmbeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.pooler import Pooler
from keras_bert.layers.positions import RelativePositions, RotaryPositions
from keras_bert.layers.reshaping import FlattenTokens, UnflattenTokens


def build_encoder(config: BertConfig, *, packed: bool = False) -> keras.Model:
    """Builds the encoder of the paper, section 3.

    Inputs, all int32 [B, S] with S up to `config.max_position_embeddings`:
    `input_ids`, `input_mask` (1 = token, 0 = padding) and `segment_ids`.
    Outputs: `sequence_output` [B, S, H] and `pooled_output` [B, H], in the
    compute dtype of the global policy.

    With `packed`, a row contains up to K sequences that do not attend to each
    other; `input_mask` numbers the sequences from 1. There are two more inputs:
    `position_ids` [B, S], which counts from 0 in each sequence, and
    `cls_positions` [B, K], the position of each sequence's first token.
    `pooled_output` is then [B, K, H]. The weights are the same as without
    `packed`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> encoder = keras_bert.models.build_encoder(config)
        >>> ids = np.array([[2, 5, 9, 3]])
        >>> features = {"input_ids": ids, "input_mask": ids * 0 + 1}
        >>> outputs = encoder(features | {"segment_ids": ids * 0})
        >>> outputs["sequence_output"].shape
        TensorShape([1, 4, 128])
    """
    check_config(config)
    names = ["input_ids", "input_mask", "segment_ids"]
    if packed:
        names += ["position_ids", "cls_positions"]
    inputs = {x: keras.Input((None,), dtype="int32", name=x) for x in names}
    x, _ = BertEmbeddings(
        vocab_size=config.vocab_size,
        hidden_size=config.embedding_size or config.hidden_size,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
        dropout_rate=config.hidden_dropout_prob,
        initializer_range=config.initializer_range,
        layer_norm_eps=config.layer_norm_eps,
        first_position=config.first_position,
        has_positions=config.position_embedding_type != "rotary",
        norm_bias="norm" in config.biases.split(),
        family_fields={
            **config.family_fields,
            "hidden_size": config.hidden_size,
        },
        name="embeddings",
    )(inputs["input_ids"], inputs["segment_ids"], inputs.get("position_ids"))
    tokens = build_blocks(config, x, inputs["input_mask"], packed)
    norm_eps = config.layer_norm_eps if config.prediction_head else None
    pooled = Pooler(
        left_to_right=config.directionality == "left_to_right",
        initializer_range=config.initializer_range,
        activation=config.pooler_act,
        pooling=config.pooling,
        layer_norm_eps=norm_eps,
        biases=config.biases,
        name="pooler",
    )(tokens, inputs["input_mask"], inputs.get("cls_positions"))
    outputs = {"sequence_output": tokens, "pooled_output": pooled}
    return keras.Model(inputs, outputs, name="bert_encoder")


def build_blocks(
    config: BertConfig,
    x: keras.KerasTensor,
    input_mask: keras.KerasTensor,
    packed: bool = False,
    prefix: str = "",
) -> keras.KerasTensor:
    """Adds the encoder blocks: embeddings [B, S, E] -> tokens [B, S, H].

    The names of the layers begin with `prefix`.
    """
    full, local = _build_positions(config, input_mask, prefix)
    x = FlattenTokens(
        config.hidden_size if config.embedding_size else None,
        initializer_range=config.initializer_range,
        name=f"{prefix}flatten_tokens",
    )(x)  # [B, S, E] -> [T, H]
    full_every = config.global_attn_every_n_layers
    for i in range(config.num_hidden_layers):
        is_local = config.local_attention and i % full_every
        norms = config.norm_placement
        if i == 0 and norms == "before":
            norms = "before_output"  # the embeddings have a norm
        x = EncoderBlock(
            num_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            activation=config.hidden_act,
            dropout_rate=config.hidden_dropout_prob,
            attention_dropout_rate=config.attention_probs_dropout_prob,
            left_to_right=config.directionality == "left_to_right",
            initializer_range=config.initializer_range,
            layer_norm_eps=config.layer_norm_eps,
            gated=config.gated_feed_forward,
            norms=norms,
            biases=config.biases,
            attention_options={
                "positions": config.position_embedding_type,
                "local_attention": config.local_attention if is_local else None,
            },
            name=f"{prefix}layer_{i}",
        )(x, input_mask, *(local if is_local else full), packed=packed)
    if config.norm_placement == "before":
        x = keras.layers.LayerNormalization(
            epsilon=config.layer_norm_eps,
            center="norm" in config.biases.split(),
            name=f"{prefix}final_layer_norm",
        )(x)
    return UnflattenTokens(name=f"{prefix}sequence_output")(x, input_mask)


def _build_positions(
    config: BertConfig, input_mask: Any, prefix: str
) -> tuple[list[Any], list[Any]]:
    """Returns the position inputs for full and for local attention.

    Each of the two lists contains a block's position input, or is empty.
    """
    if config.position_embedding_type == "relative":
        positions = RelativePositions(
            config.num_attention_heads,
            config.initializer_range,
            name=f"{prefix}relative_positions",
        )(input_mask)
        return [positions], [positions]
    if config.position_embedding_type == "absolute":
        return [], []
    size = config.hidden_size // config.num_attention_heads
    scale = config.rope_scaling_factor

    def rotary(name: str, theta: float) -> list[Any]:
        layer = RotaryPositions(size, theta, scale, name=prefix + name)
        return [layer(input_mask)]

    full = rotary("rotary_positions", config.rope_theta)
    if not config.local_attention:
        return full, []
    return full, rotary("local_rotary_positions", config.local_rope_theta)
