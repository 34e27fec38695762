"""BERT as it is, and a tagger that learns from what it says (paper, 5.3)."""

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

# Name -> which of [embeddings, layer_0, ..., the last layer].
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
    """Builds a frozen encoder, a two-layer BiLSTM on it, and a softmax.

    The encoder has all its weights under their usual paths, those of layers
    too that are not asked for and not computed. None is trained, and there is
    no dropout in it.

    Args:
        config: The encoder.
        num_labels: L.
        features: What the tagger reads: one of `FEATURES`, the rows of Table
            7 in the paper. All are all layers, without the embeddings.
        bilstm_size: In each direction; 0 leaves the BiLSTM out.

    Inputs: those of `build_encoder`. Output: `logits`, float32 [B, S, L].
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
    """How many layers are computed, and how many numbers a token then has.

    Raises InputError where the encoder has no such features.
    """
    chosen = range(config.num_hidden_layers + 1)[_choose(config, features)]
    num_joined = len(chosen) if features.startswith("concat") else 1
    return chosen[-1], num_joined * config.hidden_size


@keras.saving.register_keras_serializable(package="keras_bert")
class FrozenEncoder(keras.layers.Layer):
    """Inputs -> hidden states [B, S, H] of the layers that are asked for.

    Args:
        config: The encoder, of which all weights are there.
        features: Which layers: one of `FEATURES`.
    """

    def __init__(self, config: BertConfig, features: str, **kwargs):
        super().__init__(**kwargs)
        self.config = dataclasses.replace(
            config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        self.features = features
        # Built here: in `build` the paths would begin with this layer's name.
        self.encoder = build_encoder(self.config)
        self.encoder.trainable = False
        names = [f"layer_{i}" for i in range(config.num_hidden_layers)]
        self._names = ["flatten_tokens", *names][_choose(config, features)]
        self._wanted = keras.Model(
            self.encoder.input,
            {name: self.encoder.get_layer(name).output for name in self._names},
        )

    def call(self, inputs):
        hidden = self._wanted(inputs)  # flat, [T, H]
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
    """Which of [embeddings, layer_0, ..., the last layer], a slice."""
    if features not in _LAYERS:
        raise InputError(
            f"features {features!r} is not one of {', '.join(FEATURES)}."
        )
    if features.endswith("four") and config.num_hidden_layers < 4:
        raise InputError(
            f"features {features!r} are of four layers, but the model has "
            f"{config.num_hidden_layers}; choose others."
        )
    return _LAYERS[features]
