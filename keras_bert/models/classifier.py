"""A label or a number for each text or pair of texts."""

import numbers

import keras

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.sequence_pooling import SequencePooling
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer


def build_classifier(
    config: BertConfig, *, num_labels: int, pooling: str = "pooled"
) -> keras.Model:
    """Builds the encoder with a softmax classifier on [CLS] (paper, 4.1).

    A left-to-right encoder classifies the last token; see `Pooler`. With the
    pooling "mean", the classifier reads the mean of all tokens, as suits an
    encoder that was trained on sentences, and there is no pooler.
    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, L].

    The logits are not probabilities: compile with
    `SparseCategoricalCrossentropy(from_logits=True)`. With the string
    "sparse_categorical_crossentropy", Keras takes them for probabilities and
    trains on a wrong loss without an error.

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
    if not isinstance(num_labels, numbers.Integral) or num_labels < 2:
        raise InputError(
            f"num_labels is {num_labels}, but a classifier chooses between "
            "at least 2 labels; give the number of labels, or use "
            "build_regressor for a single number."
        )
    if pooling not in ("pooled", "mean"):
        raise InputError(f"pooling is {pooling!r}, but must be pooled or mean.")
    return _build(config, num_labels, "classifier", pooling)


def build_regressor(config: BertConfig) -> keras.Model:
    """Builds the encoder with a linear layer to one number on [CLS] (STS-B).

    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, 1], the
    number itself.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> keras_bert.models.build_regressor(config).output["logits"].shape
        (None, 1)
    """
    return _build(config, 1, "regressor")


def _build(config, units, name, pooling="pooled"):
    encoder = build_encoder(config)
    if pooling == "pooled":
        x = encoder.output["pooled_output"]
    else:
        x = SequencePooling(pooling, name="pooling")(
            encoder.output["sequence_output"], encoder.input["input_mask"]
        )
    x = Dropout(config.hidden_dropout_prob, name=f"{name}_dropout")(x)
    logits = build_output_layer(config, units, name)(x)
    return keras.Model(encoder.input, {"logits": logits}, name=f"bert_{name}")
