"""A score for each of several choices, such as the endings in SWAG."""

import keras

from keras_bert.config import BertConfig
from keras_bert.layers.choices import UnfoldChoices
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import build_encoder
from keras_bert.models.folded_inputs import fold_inputs
from keras_bert.models.output_layer import build_output_layer


def build_multiple_choice(
    config: BertConfig, *, packed: bool = False
) -> keras.Model:
    """Builds the encoder with a score for each choice (paper, 4.4).

    Inputs: those of `build_encoder` with an axis of choices C, int32
    [B, C, S]. Output: `logits`, float32 [B, C].

    With `packed`, a row holds K choices: the inputs are those of a packed
    encoder with an axis of rows R, as `pack_choices` returns them. The output
    is [B, R*K], and the weights are the same.

    Compile it with a loss `from_logits`; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_multiple_choice(config)
        >>> ids = np.ones([2, 4, 7], "int32")
        >>> features = {"input_ids": ids, "input_mask": ids}
        >>> model(features | {"segment_ids": ids * 0})["logits"].shape
        TensorShape([2, 4])
    """
    encoder = build_encoder(config, packed=packed)
    inputs, rows = fold_inputs(encoder.input)  # [B, R, S], [B*R, S]
    x = Dropout(config.hidden_dropout_prob, name="multiple_choice_dropout")(
        encoder(rows)["pooled_output"]
    )
    scores = build_output_layer(config, 1, "multiple_choice")(x)
    logits = UnfoldChoices(name="logits")(scores, inputs["input_ids"])
    return keras.Model(inputs, {"logits": logits}, name="bert_multiple_choice")
