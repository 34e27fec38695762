"""Hugging Face's weights (safetensors) -> arrays under our paths."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

# Our path -> their name without the prefix "bert."; `{i}` is the number of
# the layer. Dense kernels are [units, inputs] there.
_DENSE = {
    "layer_{i}/attention/query": "encoder.layer.{i}.attention.self.query",
    "layer_{i}/attention/key": "encoder.layer.{i}.attention.self.key",
    "layer_{i}/attention/value": "encoder.layer.{i}.attention.self.value",
    "layer_{i}/attention/output": "encoder.layer.{i}.attention.output.dense",
    "layer_{i}/intermediate": "encoder.layer.{i}.intermediate.dense",
    "layer_{i}/output": "encoder.layer.{i}.output.dense",
    "pooler/dense": "pooler.dense",
    "masked_lm/transform": "cls.predictions.transform.dense",
    "next_sentence/dense": "cls.seq_relationship",
    "classifier": "classifier",
}
_LAYER_NORM = {
    "embeddings/layer_norm": "embeddings.LayerNorm",
    "layer_{i}/attention_layer_norm": (
        "encoder.layer.{i}.attention.output.LayerNorm"
    ),
    "layer_{i}/output_layer_norm": "encoder.layer.{i}.output.LayerNorm",
    "masked_lm/layer_norm": "cls.predictions.transform.LayerNorm",
}
_WEIGHTS = (
    {
        "embeddings/word_embeddings": "embeddings.word_embeddings.weight",
        "embeddings/position_embeddings": (
            "embeddings.position_embeddings.weight"
        ),
        "embeddings/segment_embeddings": (
            "embeddings.token_type_embeddings.weight"
        ),
        "masked_lm/output_bias": "cls.predictions.bias",
    }
    | {f"{path}/kernel": f"{name}.weight" for path, name in _DENSE.items()}
    | {f"{path}/bias": f"{name}.bias" for path, name in _DENSE.items()}
    | {f"{path}/gamma": f"{name}.weight" for path, name in _LAYER_NORM.items()}
    | {f"{path}/beta": f"{name}.bias" for path, name in _LAYER_NORM.items()}
)
# A constant, and copies of what is tied.
_NO_WEIGHTS = {
    "embeddings.position_ids",
    "cls.predictions.decoder.weight",
    "cls.predictions.decoder.bias",
}


def is_huggingface(names: Mapping[str, np.ndarray]) -> bool:
    """Tells their names, with dots, from ours, with slashes."""
    return not any("/" in name for name in names)


def from_huggingface(
    tensors: Mapping[str, np.ndarray], source: str
) -> dict[str, np.ndarray]:
    """Renames and transposes what transformers has saved of any BERT model.

    Raises ValueError for a tensor that no BERT has; `source` is where they
    come from, for the message.
    """
    ours = {name: path for path, name in _WEIGHTS.items()}
    arrays = {}
    for full_name in sorted(tensors):
        name = full_name.removeprefix("bert.")
        # Files of before 2020 call the weights of LayerNorm as TF1 does.
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        if name in _NO_WEIGHTS:
            continue
        layer = re.match(r"encoder\.layer\.(\d+)\.", name)
        number = layer[1] if layer else ""
        general = name.replace(f".layer.{number}.", ".layer.{i}.", 1)
        if general not in ours:
            raise ValueError(
                f"{source} has a tensor {full_name}, which is no weight of "
                "BERT; is it a checkpoint of another model?"
            )
        path = ours[general].replace("{i}", number)
        array = tensors[full_name]
        arrays[path] = array.T if path.endswith("/kernel") else array
    return arrays
