"""The folder of a network -> functions that tokenize texts in TensorFlow.

For every kind of task, the functions give the same answers as a SavedModel of
the model.
"""

from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.kinds.signatures import Signature, one_graph
from keras_bert.kinds.spec import build_kind, read_spec
from keras_bert.predict.function import Function
from keras_bert.predict.network import load_network
from keras_bert.predict.saved_model import ask, to_spec
from keras_bert.predict.versions import read_description
from keras_bert.text.tokenizer import BertTokenizer


def load(version: Path, signature: str | None = None) -> dict[str, Function]:
    """Returns a network's functions, as `load_functions` describes."""
    assets = version / "assets"
    bert_config = BertConfig.from_json(assets / "bert_config.json")
    tokenizer = BertTokenizer.from_folder(assets)
    kind = build_kind(read_spec(assets / "task.json"), tokenizer, bert_config)
    network: Any = load_network(version)
    described = read_description(version)["signatures"]
    return {
        name: _function(x)
        for name, x in kind.signatures(network).items()
        if name in described and signature in (None, name)
    }


def _function(signature: Signature) -> Function:
    traced: Any = one_graph(signature.function, signature.inputs)
    graph = traced.get_concrete_function()
    inputs = {spec.name: to_spec(spec) for spec in signature.inputs}
    outputs = {name: to_spec(x) for name, x in graph.structured_outputs.items()}

    def serve(**texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return graph(*(texts[name] for name in inputs))

    return Function.of_network(
        lambda columns: ask(serve, columns, inputs), inputs, outputs
    )
