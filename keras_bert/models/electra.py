"""ELECTRA: the encoder finds the tokens that a small generator replaced."""

import dataclasses

import keras
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.pretraining_heads import (
    ReplacedTokensHead,
    SampledTokens,
)
from keras_bert.models.encoder import build_blocks, build_encoder
from keras_bert.models.pretraining import build_masked_lm_head


def build_electra(
    config: BertConfig, *, generator_size: float = 0.25, packed: bool = False
) -> keras.Model:
    """Builds the encoder with a generator (arXiv 2003.10555, section 2).

    The generator is a masked LM. Tokens are drawn from its predictions and
    replace the masks. The encoder is the discriminator: it predicts which
    tokens were replaced. The generator and the discriminator read the same
    embeddings; all other weights of the generator have paths that begin with
    `generator_`.

    Inputs: as for `build_encoder`, and two more, int32 [B, P]:
    `masked_lm_positions`, and `masked_lm_ids`, the original tokens at these
    positions. Outputs, float32: `masked_lm` [B, P, V], the generator's logits,
    and `replaced_tokens` [B, S, 2], the discriminator's logit for each token
    and the token's label: 1 if the token was replaced, or else 0.

    Args:
        config: The config of the discriminator.
        generator_size: The generator's width, number of heads and feed-forward
            width, as a fraction of the discriminator's.
        packed: Whether a row contains several sequences; see `build_encoder`.

    Raises:
        InputError: If the generator cannot have this size.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_electra(config)
        >>> {name: x.shape for name, x in model.output.items()}
        {'masked_lm': (None, None, 30522), 'replaced_tokens': (None, None, 2)}
    """
    discriminator = build_discriminator(config, packed=packed)
    generator = generator_config(config, generator_size)
    inputs = dict(discriminator.input)
    for name in ("masked_lm_positions", "masked_lm_ids"):
        inputs[name] = keras.Input((None,), dtype="int32", name=name)
    positions = inputs["masked_lm_positions"]
    x, word_embeddings = discriminator.get_layer("embeddings").output
    tokens = build_blocks(
        generator, x, inputs["input_mask"], packed, prefix="generator_"
    )
    masked_lm = build_masked_lm_head(config, "generator_masked_lm")(
        tokens, positions, word_embeddings
    )
    drawn, labels = SampledTokens(name="sampled_tokens")(
        inputs["input_ids"], positions, inputs["masked_lm_ids"], masked_lm
    )
    found = discriminator({**discriminator.input, "input_ids": drawn})
    outputs = {
        "masked_lm": masked_lm,
        "replaced_tokens": ops.stack([found["replaced_tokens"], labels], -1),
    }
    return keras.Model(inputs, outputs, name="electra")


def build_discriminator(
    config: BertConfig, *, packed: bool = False
) -> keras.Model:
    """Builds the encoder with a logit for each token: was it replaced?

    Inputs: as for `build_encoder`. Output: `replaced_tokens`, float32 [B, S].

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_discriminator(config)
        >>> model.output["replaced_tokens"].shape
        (None, None)
    """
    encoder = build_encoder(config, packed=packed)
    logits = ReplacedTokensHead(
        activation=config.hidden_act,
        initializer_range=config.initializer_range,
        name="replaced_tokens",
    )(encoder.output["sequence_output"])
    outputs = {"replaced_tokens": logits}
    return keras.Model(encoder.input, outputs, name="bert_discriminator")


def generator_config(config: BertConfig, size: float) -> BertConfig:
    """Returns the generator's config for a discriminator's `config`.

    `size` is the argument `generator_size` of `build_electra`.
    """
    heads = max(1, int(config.num_attention_heads * size))
    width = int(config.hidden_size * size)
    if not 0 < size <= 1 or width < heads or width % heads:
        raise InputError(
            f"generator_size is {size}, which gives a generator of width "
            f"{width} with {heads} heads; choose a fraction, such as 0.25, for "
            "which the number of heads divides the width."
        )
    return dataclasses.replace(
        config,
        embedding_size=config.embedding_size or config.hidden_size,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=max(1, int(config.intermediate_size * size)),
    )
