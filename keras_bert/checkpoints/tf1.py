"""Google's released checkpoints (TF1 format) -> arrays under our paths."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import tensorflow as tf

_LAYER_NORM = ("gamma", "beta")
_DENSE = ("kernel", "bias")
# Our path -> their name and its weights; `{i}` is the number of the layer.
_MODULES = {
    "embeddings/layer_norm": ("bert/embeddings/LayerNorm", _LAYER_NORM),
    "layer_{i}/attention/query": (
        "bert/encoder/layer_{i}/attention/self/query",
        _DENSE,
    ),
    "layer_{i}/attention/key": (
        "bert/encoder/layer_{i}/attention/self/key",
        _DENSE,
    ),
    "layer_{i}/attention/value": (
        "bert/encoder/layer_{i}/attention/self/value",
        _DENSE,
    ),
    "layer_{i}/attention/output": (
        "bert/encoder/layer_{i}/attention/output/dense",
        _DENSE,
    ),
    "layer_{i}/attention_layer_norm": (
        "bert/encoder/layer_{i}/attention/output/LayerNorm",
        _LAYER_NORM,
    ),
    "layer_{i}/intermediate": (
        "bert/encoder/layer_{i}/intermediate/dense",
        _DENSE,
    ),
    "layer_{i}/output": ("bert/encoder/layer_{i}/output/dense", _DENSE),
    "layer_{i}/output_layer_norm": (
        "bert/encoder/layer_{i}/output/LayerNorm",
        _LAYER_NORM,
    ),
    "pooler/dense": ("bert/pooler/dense", _DENSE),
    "masked_lm/transform": ("cls/predictions/transform/dense", _DENSE),
    "masked_lm/layer_norm": (
        "cls/predictions/transform/LayerNorm",
        _LAYER_NORM,
    ),
}
_WEIGHTS = {
    "embeddings/word_embeddings": "bert/embeddings/word_embeddings",
    "embeddings/position_embeddings": "bert/embeddings/position_embeddings",
    "embeddings/segment_embeddings": "bert/embeddings/token_type_embeddings",
    "masked_lm/output_bias": "cls/predictions/output_bias",
    "next_sentence/dense/kernel": "cls/seq_relationship/output_weights",
    "next_sentence/dense/bias": "cls/seq_relationship/output_bias",
    "classifier/kernel": "output_weights",
    "classifier/bias": "output_bias",
} | {
    f"{path}/{weight}": f"{name}/{weight}"
    for path, (name, weights) in _MODULES.items()
    for weight in weights
}
# Theirs are [units, H], ours [H, units] like every other kernel.
_TRANSPOSED = {"next_sentence/dense/kernel", "classifier/kernel"}
_TRAINING_STATE = re.compile(r"(.*/adam_[mv]|global_step)")


def read_tf1(prefix: str | Path) -> dict[str, np.ndarray]:
    """Reads `bert_model.ckpt`, given by the prefix of its files.

    Optimizer slots are left out. Raises ValueError for a variable that no
    BERT has.
    """
    reader = tf.train.load_checkpoint(str(prefix))
    ours = {name: path for path, name in _WEIGHTS.items()}
    arrays = {}
    for name in sorted(reader.get_variable_to_shape_map()):
        if _TRAINING_STATE.fullmatch(name):
            continue
        layer = re.search(r"/layer_(\d+)/", name)
        number = layer[1] if layer else ""
        general = name.replace(f"/layer_{number}/", "/layer_{i}/", 1)
        if general not in ours:
            raise ValueError(
                f"{prefix} has a variable {name}, which is no weight of "
                "BERT; is it a checkpoint of another model?"
            )
        path = ours[general].replace("{i}", number)
        array = reader.get_tensor(name)
        arrays[path] = array.T if path in _TRANSPOSED else array
    return arrays
