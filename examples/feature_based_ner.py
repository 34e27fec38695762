"""Feature-based named entity recognition (BERT paper, 5.3 and Table 7).

A two-layer BiLSTM learns from the hidden states of a frozen encoder. This file
defines a kind of task, and CoNLL-2003 as a task of this kind:

    python run_scripts/run_finetuning.py --task=examples/feature_based_ner.py \
        --data_dir=conll2003 --checkpoint=pretrained --output_dir=out

Import this file before you load a model of this kind with `load_finetuned`. In
the paper, the BiLSTM has 768 units (`--bilstm_size=768`); on a CPU, use 256.
"""

import dataclasses

import keras
from keras import ops

import keras_bert
from keras_bert.layers.crf import Crf
from keras_bert.models.flops import count_work

# Name of the features -> their slice of [embeddings, layer_0, ..., last layer].
FEATURES = {
    "embeddings": slice(0, 1),
    "second_to_last": slice(-2, -1),
    "last": slice(-1, None),
    "weighted_sum_last_four": slice(-4, None),
    "concat_last_four": slice(-4, None),
    "weighted_sum_all": slice(1, None),
}


_TokenClassification = keras_bert.kinds.get_kind("token_classification")


@dataclasses.dataclass(frozen=True)
class FeatureBasedSettings(_TokenClassification.Settings):
    """Settings of a feature-based tagger.

    Attributes:
        features: The hidden states of the frozen encoder that the tagger reads.
        bilstm_size: The number of units, in each direction, of a two-layer
            BiLSTM on these hidden states; 0 for no BiLSTM.
    """

    features: str = keras_bert.kinds.setting(
        "concat_last_four", choices=tuple(FEATURES)
    )
    bilstm_size: int = keras_bert.kinds.setting(768, minimum=0)


class FeatureBasedNER(_TokenClassification):
    """Token classification with a frozen encoder and a BiLSTM."""

    name = "feature_based_ner"
    Settings = FeatureBasedSettings

    def build_model(self, bert_config):
        return build_tagger(
            bert_config,
            num_labels=len(self.spec.labels),
            features=self.spec.settings.features,
            bilstm_size=self.spec.settings.bilstm_size,
            crf=self.spec.settings.crf,
        )

    def work_counter(self, bert_config):
        features, size = self.spec.settings.features, bert_config.hidden_size
        chosen = _choose(bert_config, features)
        units = self.spec.settings.bilstm_size
        input_size = size * (len(chosen) if "concat" in features else 1)
        # Four gates in two directions. Each gate reads the layer below and the
        # state.
        bilstm = sum(8 * units * (n + units) for n in (input_size, 2 * units))
        layer = dataclasses.replace(bert_config, num_hidden_layers=1)

        def count(batch):
            """Returns the work of a batch.

            A frozen layer does a third of a trained layer's work, because it
            has no backward pass.
            """
            work = count_work(batch, layer, num_labels=len(self.spec.labels))
            trained = count_work(batch, layer, num_labels=0)["flops"]
            frozen = chosen[-1] * trained / 3
            head = work["flops"] - trained
            return {
                **work,
                "flops": frozen + head + 6 * bilstm * work["tokens"],
            }

        return count


def build_tagger(bert_config, *, num_labels, features, bilstm_size, crf=False):
    """Returns a frozen encoder with a BiLSTM and an output layer.

    With `crf`, a CRF follows the output layer. The inputs and the output are as
    in `build_token_classifier`. The encoder's weights have their usual paths.
    """
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("input_ids", "input_mask", "segment_ids")
    }
    hidden = FrozenEncoder(bert_config, features, name="frozen")(inputs)
    if "concat" in features:
        x = ops.concatenate(hidden, axis=-1)
    elif "weighted_sum" in features:
        x = WeightedSum(name="layer_weights")(hidden)
    else:
        (x,) = hidden
    for i in range(2 if bilstm_size else 0):
        lstm = keras.layers.LSTM(
            bilstm_size, return_sequences=True, name="lstm"
        )
        bilstm = keras.layers.Bidirectional(lstm, name=f"bilstm_{i}")
        x = bilstm(x, mask=inputs["input_mask"] > 0)
    x = keras_bert.layers.Dropout(
        bert_config.hidden_dropout_prob, name="token_classifier_dropout"
    )(x)
    logits = keras.layers.Dense(
        num_labels,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=bert_config.initializer_range
        ),
        dtype="float32",
        name="token_classifier",
    )(x)
    output = (
        {"chain": Crf(dtype="float32", name="crf")(logits)}
        if crf
        else {"logits": logits}
    )
    return keras.Model(inputs, output, name="bert_feature_tagger")


class FrozenEncoder(keras.layers.Layer):
    """Maps the encoder's inputs to hidden states [B, S, H] of chosen layers."""

    def __init__(self, bert_config, features, **kwargs):
        super().__init__(**kwargs)
        chosen = _choose(bert_config, features)
        # If `build` made the encoder, the paths of the encoder's weights would
        # start with the name of this layer.
        self.encoder = keras_bert.models.build_encoder(
            dataclasses.replace(
                bert_config,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
            )
        )
        self.encoder.trainable = False
        names = [f"layer_{i - 1}" if i else "flatten_tokens" for i in chosen]
        self._hidden = keras.Model(
            self.encoder.input,
            [self.encoder.get_layer(name).output for name in names],
        )

    def call(self, inputs):
        # The encoder is frozen, so it computes as in inference.
        hidden = keras.tree.flatten(self._hidden(inputs, training=False))
        shape = (*ops.shape(inputs["input_ids"]), -1)
        return [ops.reshape(x, shape) for x in hidden]  # [T, H] -> [B, S, H]

    def compute_output_spec(self, inputs):
        shape = inputs["input_ids"].shape
        return [
            keras.KerasTensor((*shape, x.shape[-1]), self.compute_dtype)
            for x in self._hidden.outputs
        ]


class WeightedSum(keras.layers.Layer):
    """The mean of K tensors, weighted by a softmax over K learned scores."""

    def build(self, shapes):
        self.scores = self.add_weight(
            name="scores", shape=(len(shapes),), initializer="zeros"
        )

    def call(self, tensors):
        weights = ops.softmax(self.scores)
        return sum(weights[i] * x for i, x in enumerate(tensors))

    def compute_output_spec(self, tensors):
        return keras.KerasTensor(tensors[0].shape, self.compute_dtype)


def _choose(bert_config, features):
    """Returns the indices to read in [embeddings, layer_0, ..., last layer]."""
    num_layers = bert_config.num_hidden_layers
    if features.endswith("four") and num_layers < 4:
        raise keras_bert.InputError(
            f"features {features!r} need four layers, but the model has "
            f"{num_layers}; choose features that need fewer layers."
        )
    return range(num_layers + 1)[FEATURES[features]]


TASKS = {
    "ner/conll2003": dataclasses.replace(
        keras_bert.get_task("ner/conll2003"), kind=FeatureBasedNER.name
    )
}
