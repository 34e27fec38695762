"""A two-layer BiLSTM on the encoder, as in Table 5 of the paper."""

import keras
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer

_NUM_LAYERS = 2


def build_bilstm_token_classifier(
    config: BertConfig, *, num_labels: int, bilstm_size: int = 768
) -> keras.Model:
    """Builds `build_token_classifier` with a BiLSTM before the softmax.

    `bilstm_size` is the number of units in each direction.

    Compile it with a loss `from_logits`; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_bilstm_token_classifier(
        ...     config, num_labels=9, bilstm_size=6
        ... )
        >>> model.output["logits"].shape
        (None, None, 9)
    """
    encoder = build_encoder(config)
    x = stack_bilstm(
        encoder.output["sequence_output"],
        encoder.input["input_mask"],
        bilstm_size,
    )
    return _classify(config, encoder, x, num_labels, "token_classifier")


def build_bilstm_classifier(
    config: BertConfig, *, num_labels: int, bilstm_size: int = 768
) -> keras.Model:
    """Builds `build_classifier` on the two ends of a BiLSTM, not on [CLS].

    In a left-to-right encoder, [CLS] has not attended to the text.
    `bilstm_size` is the number of units in each direction.

    Compile it with a loss `from_logits`; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_bilstm_classifier(
        ...     config, num_labels=3, bilstm_size=6
        ... )
        >>> model.output["logits"].shape
        (None, 3)
    """
    encoder = build_encoder(config)
    input_mask = encoder.input["input_mask"]
    x = stack_bilstm(encoder.output["sequence_output"], input_mask, bilstm_size)
    last = ops.sum(input_mask, axis=1) - 1
    forward = ops.take_along_axis(x, last[:, None, None], axis=1)
    ends = ops.concatenate(
        [forward[:, 0, :bilstm_size], x[:, 0, bilstm_size:]], axis=-1
    )
    return _classify(config, encoder, ends, num_labels, "classifier")


def stack_bilstm(
    x: keras.KerasTensor, input_mask: keras.KerasTensor, size: int
) -> keras.KerasTensor:
    """[B, S, H] -> [B, S, 2 * size]: the forward half, then the backward one.

    No token reads the output at padding positions.
    """
    mask = input_mask > 0
    for i in range(_NUM_LAYERS):
        lstm = keras.layers.LSTM(size, return_sequences=True, name="lstm")
        bilstm = keras.layers.Bidirectional(lstm, name=f"bilstm_{i}")
        x = bilstm(x, mask=mask)
    return x


def _classify(config, encoder, x, num_labels, name):
    x = Dropout(config.hidden_dropout_prob, name=f"{name}_dropout")(x)
    logits = build_output_layer(config, num_labels, name)(x)
    return keras.Model(
        encoder.input, {"logits": logits}, name=f"bert_bilstm_{name}"
    )
