"""The first and last token of an answer in a text, as in SQuAD."""

import keras

from keras_bert.config import BertConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer


def build_span_labeler(config: BertConfig) -> keras.Model:
    """Builds the encoder with a start and an end score per token (paper, 4.2).

    Inputs: those of `build_encoder`. Outputs: `start_logits` and
    `end_logits`, float32 [B, S], with scores at padding positions too.

    Compile it with a loss `from_logits`; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_span_labeler(config)
        >>> sorted(model.output)
        ['end_logits', 'start_logits']
    """
    encoder = build_encoder(config)
    # No dropout here, as in google-research/bert, run_squad.py.
    logits = build_output_layer(config, 2, "span_labeler")(
        encoder.output["sequence_output"]
    )  # [B, S, 2]
    outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
    return keras.Model(encoder.input, outputs, name="bert_span_labeler")
