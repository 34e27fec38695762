"""A frozen encoder and a tagger trained on its features (paper, 5.3)."""

import dataclasses

import keras
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.weighted_sum import WeightedSum
from keras_bert.models.bilstm import stack_bilstm
from keras_bert.models.encoder import build_encoder
from keras_bert.models.output_layer import build_output_layer

# Name -> the slice of [embeddings, layer_0, ..., last layer] to read.
_LAYERS = {
    "embeddings": slice(0, 1),
    "second_to_last": slice(-2, -1),
    "last": slice(-1, None),
    "weighted_sum_last_four": slice(-4, None),
    "concat_last_four": slice(-4, None),
    "weighted_sum_all": slice(1, None),
}
FEATURES = tuple(_LAYERS)


def build_feature_tagger(
    config: BertConfig,
    *,
    num_labels: int,
    features: str = "concat_last_four",
    bilstm_size: int = 768,
) -> keras.Model:
    """Builds a frozen encoder with a two-layer BiLSTM and a softmax on it.

    The encoder has all its weights under their usual paths, including those
    of layers that are not computed. It has no dropout.

    Args:
        config: The encoder.
        num_labels: The number of labels, L.
        features: The input of the tagger: one of `FEATURES`, the rows of
            Table 7 in the paper. `weighted_sum_all` leaves the embeddings
            out.
        bilstm_size: Units in each direction; 0 for no BiLSTM.

    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, S, L].

    Compile it with a loss `from_logits`; see `build_classifier`.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_feature_tagger(
        ...     config, num_labels=9, features="last", bilstm_size=6
        ... )
        >>> model.output["logits"].shape
        (None, None, 9)
    """
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("input_ids", "input_mask", "segment_ids")
    }
    hidden = FrozenEncoder(config, features, name="frozen")(inputs)
    if features.startswith("concat"):
        x = ops.concatenate(hidden, axis=-1)
    elif features.startswith("weighted_sum"):
        x = WeightedSum(name="layer_weights")(hidden)
    else:
        (x,) = hidden
    if bilstm_size:
        x = stack_bilstm(x, inputs["input_mask"], bilstm_size)
    x = Dropout(config.hidden_dropout_prob, name="token_classifier_dropout")(x)
    logits = build_output_layer(config, num_labels, "token_classifier")(x)
    return keras.Model(inputs, {"logits": logits}, name="bert_feature_tagger")


def size_features(config: BertConfig, features: str) -> tuple[int, int]:
    """Returns the number of layers to compute and the size of the features.

    Raises InputError if the encoder does not have these features.
    """
    chosen = range(config.num_hidden_layers + 1)[_choose(config, features)]
    num_joined = len(chosen) if features.startswith("concat") else 1
    return chosen[-1], num_joined * config.hidden_size


@keras.saving.register_keras_serializable(package="keras_bert")
class FrozenEncoder(keras.layers.Layer):
    """Inputs -> a list of the hidden states [B, S, H] of some layers.

    Args:
        config: The encoder. The layer has all its weights.
        features: The layers: one of `FEATURES`.
    """

    def __init__(self, config: BertConfig, features: str, **kwargs):
        super().__init__(**kwargs)
        self.config = dataclasses.replace(
            config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        self.features = features
        # Not in `build`, where paths would start with the name of this layer.
        self.encoder = build_encoder(self.config)
        self.encoder.trainable = False
        names = [f"layer_{i}" for i in range(config.num_hidden_layers)]
        self._names = ["flatten_tokens", *names][_choose(config, features)]
        self._wanted = keras.Model(
            self.encoder.input,
            {name: self.encoder.get_layer(name).output for name in self._names},
        )

    def call(self, inputs):
        # As in inference: it needs no gradient.
        hidden = self._wanted(inputs, training=False)  # flat, [T, H]
        shape = (*ops.shape(inputs["input_ids"]), -1)
        return [ops.reshape(hidden[name], shape) for name in self._names]

    def compute_output_spec(self, inputs):
        hidden = self._wanted.output
        return [
            keras.KerasTensor(
                (*inputs["input_ids"].shape, hidden[name].shape[-1]),
                self.compute_dtype,
            )
            for name in self._names
        ]

    def get_config(self):
        return super().get_config() | {
            "config": self.config.to_dict(),
            "features": self.features,
        }

    @classmethod
    def from_config(cls, config):
        network = BertConfig.from_dict(config["config"])
        return cls(**config | {"config": network})


def _choose(config, features):
    """Returns a slice of [embeddings, layer_0, ..., last layer]."""
    if features not in _LAYERS:
        raise InputError(
            f"features {features!r} is not one of {', '.join(FEATURES)}."
        )
    if features.endswith("four") and config.num_hidden_layers < 4:
        raise InputError(
            f"features {features!r} need four layers, but the model has "
            f"{config.num_hidden_layers}; choose features of fewer layers."
        )
    return _LAYERS[features]
