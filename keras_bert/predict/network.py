"""A network that another runtime computes, called like its Keras model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.kinds.signatures import one_graph
from keras_bert.kinds.spec import build_kind, read_spec
from keras_bert.predict.engines import ENGINES, Run
from keras_bert.predict.versions import DESCRIPTION, MODEL_FILES, format_of
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings


class Network:
    """Stands in for a `keras.Model` when a kind of task answers texts.

    Attributes:
        input: The specifications of the inputs, by name.
        output: The specifications of the outputs, by name.
    """

    def __init__(
        self,
        run: Run,
        inputs: Mapping[str, tf.TensorSpec],
        outputs: Mapping[str, tf.TensorSpec],
    ):
        self.input = dict(inputs)
        self.output = dict(outputs)
        self._run = run

    def __call__(
        self, features: Mapping[str, tf.Tensor], training: bool = False
    ) -> dict[str, tf.Tensor]:
        """Returns the outputs by name, in a graph or eagerly."""
        tensors = tf.numpy_function(
            self._compute,
            [features[name] for name in self.input],
            [spec.dtype for spec in self.output.values()],
        )
        # Of one output, TensorFlow returns the tensor instead of a list.
        tensors = tf.nest.flatten(tensors)
        outputs = dict(zip(self.output, tensors, strict=True))
        for name, spec in self.output.items():
            outputs[name].set_shape(spec.shape)
        return outputs

    def _compute(self, *arrays):
        outputs = self._run(dict(zip(self.input, arrays, strict=True)))
        return [outputs[name] for name in self.output]


def to_specs(tensors: Mapping) -> dict[str, tf.TensorSpec]:
    """Returns the specifications of `model.input` or `model.output`."""
    return {
        name: tf.TensorSpec(x.shape, x.dtype, name)
        for name, x in tensors.items()
    }


def load_network(version: Path) -> Network:
    """Loads the network of a version."""
    model_format = format_of(version)
    network = _description(version)["network"]
    return Network(
        ENGINES[model_format](version / MODEL_FILES[model_format]),
        _to_specs(network["inputs"]),
        _to_specs(network["outputs"]),
    )


class LoadedNetwork:
    """A version that answers strings as the SavedModel of the same model does.

    If the kind of its task is one of your own, import its file first.

    Attributes:
        signatures: The functions, by name. They take tensors by name.
    """

    def __init__(self, version: Path):
        assets = version / "assets"
        bert_config = BertConfig.from_json(assets / "bert_config.json")
        tokenizer = BertTokenizer.from_settings(
            assets / "vocab.txt",
            TokenizerSettings.from_json(assets / "tokenizer_config.json"),
        )
        kind = build_kind(
            read_spec(assets / "task.json"), tokenizer, bert_config
        )
        network: Any = load_network(version)
        self.signatures = {
            name: _by_name(signature)
            for name, signature in kind.signatures(network).items()
        }


def _by_name(signature):
    function = one_graph(signature.function, signature.inputs)
    names = [spec.name for spec in signature.inputs]
    return lambda **texts: function(*(texts[name] for name in names))


def _description(version):
    file = version / "assets" / DESCRIPTION
    return json.loads(file.read_text(encoding="utf-8"))


def _to_specs(values):
    return {
        name: tf.TensorSpec(value["shape"], value["dtype"], name)
        for name, value in values.items()
    }
