"""The encoder with the output layer of a task."""

import numbers
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.errors import InputError, check_choice
from keras_bert.layers.crf import Crf
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.pooler import PredictionHead
from keras_bert.layers.reshaping import UnfoldChoices
from keras_bert.layers.sequences import SequencePooling
from keras_bert.models.encoder import build_encoder
from keras_bert.models.window_pooling import fold_inputs


def build_classifier(
    config: BertConfig, *, num_labels: int, pooling: str = "pooled"
) -> keras.Model:
    """Builds the encoder with a softmax classifier on [CLS] (paper, 4.1).

    With a left-to-right encoder, the classifier reads the last token; see
    `Pooler`. With the pooling "mean", it reads the mean of all tokens, which
    suits an encoder that was trained on sentences, and there is no pooler.
    Inputs: as for `build_encoder`. Output: `logits`, float32 [B, L].

    The logits are not probabilities: compile with
    `SparseCategoricalCrossentropy(from_logits=True)`. With the string
    "sparse_categorical_crossentropy", Keras treats the logits as probabilities:
    it computes a wrong loss, and raises no error.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_classifier(config, num_labels=3)
        >>> loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        >>> optimizer = keras_bert.training.AdamWeightDecay(3e-5)
        >>> model.compile(optimizer, {"logits": loss})
        >>> ids = np.array([[2, 5, 9, 3]])
        >>> features = {"input_ids": ids, "input_mask": ids * 0 + 1}
        >>> model(features | {"segment_ids": ids * 0})["logits"].shape
        TensorShape([1, 3])
    """
    _check_num_labels(num_labels, "or use build_regressor for a single number")
    check_choice("pooling", pooling, ("pooled", "mean"))
    encoder = build_encoder(config)
    x = encoder.output["pooled_output"]
    if pooling == "mean":
        x = SequencePooling("mean", name="pooling")(
            encoder.output["sequence_output"], encoder.input["input_mask"]
        )
    logits = _after_dropout(x, config, num_labels, "classifier")
    outputs = {"logits": logits}
    return keras.Model(encoder.input, outputs, name="bert_classifier")


def build_regressor(config: BertConfig) -> keras.Model:
    """Builds the encoder with a linear layer from [CLS] to a number (STS-B).

    Inputs: as for `build_encoder`. Output: `logits`, float32 [B, 1], which are
    the predicted numbers themselves.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> keras_bert.models.build_regressor(config).output["logits"].shape
        (None, 1)
    """
    encoder = build_encoder(config)
    pooled = encoder.output["pooled_output"]
    logits = _after_dropout(pooled, config, 1, "regressor")
    return keras.Model(encoder.input, {"logits": logits}, name="bert_regressor")


def build_multiple_choice(
    config: BertConfig, *, packed: bool = False
) -> keras.Model:
    """Builds the encoder with a score for each choice (paper, 4.4).

    Inputs: as for `build_encoder`, with an axis for the C choices of an
    example, int32 [B, C, S]. Output: `logits`, float32 [B, C].

    With `packed`, a row contains K choices. Each input of a packed encoder then
    has one more axis, for the R rows of an example; `pack_choices` returns such
    inputs. The output is [B, R*K], and the weights are the same as without
    `packed`.

    Compile the model with a loss that takes logits; see `build_classifier`.

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
    x = encoder(rows)["pooled_output"]
    scores = _after_dropout(x, config, 1, "multiple_choice")
    if packed:
        scores = ops.squeeze(scores, -1)  # [B*R, K]
    # Without this dtype, mixed precision would cast the logits back.
    logits = UnfoldChoices(dtype="float32", name="logits")(
        scores, inputs["input_ids"]
    )
    return keras.Model(inputs, {"logits": logits}, name="bert_multiple_choice")


def build_token_classifier(
    config: BertConfig, *, num_labels: int, crf: bool = False
) -> keras.Model:
    """Builds the encoder with a softmax classifier on each token (paper, 5.3).

    Inputs: as for `build_encoder`. Output: `logits`, float32 [B, S, L].

    Compile the model with a loss that takes logits; see `build_classifier`.

    With `crf`, the output is `chain`, float32 [B, L + S, L]: the transitions of
    a CRF, followed by the logits. The loss `crf_loss` and the decoder `viterbi`
    are in `keras_bert.layers.crf`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_token_classifier(
        ...     config, num_labels=9
        ... )
        >>> model.output["logits"].shape
        (None, None, 9)
    """
    _check_num_labels(num_labels, "including the label for no entity")
    encoder = build_encoder(config)
    x = _token_vectors(encoder, config)
    logits = _after_dropout(x, config, num_labels, "token_classifier")
    output = {"logits": logits}
    if crf:
        output = {"chain": Crf(dtype="float32", name="crf")(logits)}
    return keras.Model(encoder.input, output, name="bert_token_classifier")


def build_span_labeler(config: BertConfig) -> keras.Model:
    """Builds the encoder with a start and an end score per token (paper, 4.2).

    Inputs: as for `build_encoder`. Outputs: `start_logits` and `end_logits`,
    float32 [B, S], which include scores at padding positions.

    Compile the model with a loss that takes logits; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_span_labeler(config)
        >>> sorted(model.output)
        ['end_logits', 'start_logits']
    """
    encoder = build_encoder(config)
    # No dropout here, as in google-research/bert, run_squad.py.
    layer = build_output_layer(config, 2, "span_labeler")
    logits = layer(_token_vectors(encoder, config))  # [B, S, 2]
    outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
    return keras.Model(encoder.input, outputs, name="bert_span_labeler")


def build_output_layer(
    config: BertConfig,
    units: int,
    name: str,
    activation: Callable | None = None,
) -> keras.layers.Dense:
    """Returns a float32 dense layer, [..., H] -> [..., units]."""
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=config.initializer_range
        ),
        dtype="float32",
        name=name,
    )


def _token_vectors(encoder: keras.Model, config: BertConfig) -> Any:
    """Returns the token vectors that an output layer reads, [B, S, H]."""
    x = encoder.output["sequence_output"]
    if not config.prediction_head:
        return x
    return PredictionHead(
        config.pooler_act,
        config.initializer_range,
        config.layer_norm_eps,
        config.biases,
        name="token_head",
    )(x)


def _after_dropout(x: Any, config: BertConfig, units: int, name: str) -> Any:
    x = Dropout(config.hidden_dropout_prob, name=f"{name}_dropout")(x)
    return build_output_layer(config, units, name)(x)


def _check_num_labels(num_labels: Any, hint: Any) -> None:
    if not isinstance(num_labels, numbers.Integral) or num_labels < 2:
        raise InputError(
            f"num_labels is {num_labels}, but a classifier chooses between at "
            f"least 2 labels; give the number of labels, {hint}."
        )
