"""One answer per text or pair: a label, or a number."""

import keras

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer


def build_classifier(config: BertConfig, *, num_labels: int) -> keras.Model:
    """Builds the encoder with a softmax classifier on [CLS] (paper, 4.1).

    That of a left-to-right encoder is on the last token; see `Pooler`.
    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, L].
    """
    if num_labels < 2:
        raise InputError(
            f"num_labels is {num_labels}, but a classifier chooses between "
            "at least 2 labels; use build_regressor for a single number."
        )
    return _build(config, num_labels, "classifier")


def build_regressor(config: BertConfig) -> keras.Model:
    """Builds the encoder with one number read from [CLS] (STS-B).

    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, 1], the
    number itself.
    """
    return _build(config, 1, "regressor")


def _build(config, units, name):
    encoder = build_encoder(config)
    x = Dropout(config.hidden_dropout_prob, name=f"{name}_dropout")(
        encoder.output["pooled_output"]
    )
    logits = build_output_layer(config, units, name)(x)
    return keras.Model(encoder.input, {"logits": logits}, name=f"bert_{name}")
