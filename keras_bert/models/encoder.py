"""The encoder: token ids -> a vector for each token and for each text."""

import keras

from keras_bert.config import BertConfig, check_config
from keras_bert.layers.embeddings import BertEmbeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.pooler import Pooler
from keras_bert.layers.reshaping import FlattenTokens, UnflattenTokens


def build_encoder(config: BertConfig, *, packed: bool = False) -> keras.Model:
    """Builds the encoder of the paper, section 3.

    Inputs, all int32 [B, S] with S up to `config.max_position_embeddings`:
    `input_ids`, `input_mask` (1 = token, 0 = padding) and `segment_ids`.
    Outputs: `sequence_output` [B, S, H] and `pooled_output` [B, H], in the
    compute dtype of the global policy.

    With `packed`, a row holds several sequences that do not attend to each
    other: `input_mask` numbers them from 1, the input `position_ids` [B, S]
    counts from 0 in each, and the input `cls_positions` [B, K] holds their
    first positions. `pooled_output` is then [B, K, H]. The weights are the
    same.

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
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name) for name in names
    }
    input_mask = inputs["input_mask"]
    left_to_right = config.directionality == "left_to_right"
    x, _ = BertEmbeddings(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
        dropout_rate=config.hidden_dropout_prob,
        initializer_range=config.initializer_range,
        layer_norm_eps=config.layer_norm_eps,
        name="embeddings",
    )(inputs["input_ids"], inputs["segment_ids"], inputs.get("position_ids"))
    x = FlattenTokens(name="flatten_tokens")(x)  # [B, S, H] -> [T, H]
    for i in range(config.num_hidden_layers):
        x = EncoderBlock(
            num_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            activation=config.hidden_act,
            dropout_rate=config.hidden_dropout_prob,
            attention_dropout_rate=config.attention_probs_dropout_prob,
            left_to_right=left_to_right,
            initializer_range=config.initializer_range,
            layer_norm_eps=config.layer_norm_eps,
            name=f"layer_{i}",
        )(x, input_mask, packed=packed)
    sequence_output = UnflattenTokens(name="sequence_output")(x, input_mask)
    pooled_output = Pooler(
        left_to_right=left_to_right,
        initializer_range=config.initializer_range,
        name="pooler",
    )(sequence_output, input_mask, inputs.get("cls_positions"))
    outputs = {
        "sequence_output": sequence_output,
        "pooled_output": pooled_output,
    }
    return keras.Model(inputs, outputs, name="bert_encoder")
