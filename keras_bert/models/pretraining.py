"""The encoder with the heads for masked LM and next sentence."""

import keras

from keras_bert.config import BertConfig
from keras_bert.layers.pretraining_heads import MaskedLMHead, NextSentenceHead
from keras_bert.models.encoder import build_encoder


def build_pretraining_model(
    config: BertConfig, *, next_sentence: bool = True, packed: bool = False
) -> keras.Model:
    """Builds the encoder with heads for masked LM and next sentence.

    Both heads are from the paper, 3.1. Inputs: as for `build_encoder`, and
    `masked_lm_positions`, int32 [B, P]. Outputs, float32 logits: `masked_lm`
    [B, P, V] at these positions, and `next_sentence` [B, 2] for class 0 (the
    second text follows the first) and class 1 (the second text is random). If
    the argument `next_sentence` is False, the model has neither the output
    `next_sentence` nor the pooler (paper, 5.1).

    With `packed`, the other inputs are as for a packed encoder,
    `masked_lm_positions` count from the start of the row, and `next_sentence`
    is [B, K, 2].

    Compile the model with a loss that takes logits; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_pretraining_model(config)
        >>> {name: x.shape for name, x in model.output.items()}
        {'masked_lm': (None, None, 30522), 'next_sentence': (None, 2)}
    """
    encoder = build_encoder(config, packed=packed)
    positions = keras.Input((None,), dtype="int32", name="masked_lm_positions")
    _, word_embeddings = encoder.get_layer("embeddings").output
    masked_lm = build_masked_lm_head(config, "masked_lm")
    tokens = encoder.output["sequence_output"]
    outputs = {"masked_lm": masked_lm(tokens, positions, word_embeddings)}
    if next_sentence:
        head = NextSentenceHead(config.initializer_range, name="next_sentence")
        outputs["next_sentence"] = head(encoder.output["pooled_output"])
    return keras.Model(
        encoder.input | {"masked_lm_positions": positions},
        outputs,
        name="bert_pretraining",
    )


def build_masked_lm_head(config: BertConfig, name: str) -> MaskedLMHead:
    return MaskedLMHead(
        activation=config.masked_lm_act or config.hidden_act,
        initializer_range=config.initializer_range,
        layer_norm_eps=config.layer_norm_eps,
        biases=config.biases,
        name=name,
    )
