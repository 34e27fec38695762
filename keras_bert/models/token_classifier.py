"""A label for each token, such as the type of a named entity."""

import keras

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.crf import Crf
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer


def build_token_classifier(
    config: BertConfig, *, num_labels: int, crf: bool = False
) -> keras.Model:
    """Builds the encoder with a softmax classifier on each token (paper, 5.3).

    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, S, L].

    Compile it with a loss `from_logits`; see `build_classifier`.

    With `crf`, the output is `chain`, float32 [B, L + S, L]: the transitions of
    a CRF and then the logits. `keras_bert.layers.crf` has its loss,
    `crf_loss`, and `viterbi`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_token_classifier(
        ...     config, num_labels=9
        ... )
        >>> model.output["logits"].shape
        (None, None, 9)
    """
    if num_labels < 2:
        raise InputError(
            f"num_labels is {num_labels}, but a token classifier chooses "
            "between at least 2 labels; count the label for no entity too."
        )
    encoder = build_encoder(config)
    x = Dropout(config.hidden_dropout_prob, name="token_classifier_dropout")(
        encoder.output["sequence_output"]
    )
    logits = build_output_layer(config, num_labels, "token_classifier")(x)
    output = {"logits": logits}
    if crf:
        output = {"chain": Crf(dtype="float32", name="crf")(logits)}
    return keras.Model(encoder.input, output, name="bert_token_classifier")
