"""Names of weights in the TensorFlow Model Garden (official/nlp), read."""

from __future__ import annotations

import math
from collections.abc import Mapping

from keras_bert.checkpoints.names import (
    Arrays,
    StoredArray,
    to_paths,
    weight_names,
)

_LAYER = "transformer/layer_{i}"
_WORDS = "word_embeddings/embeddings"
_NAMES = {
    "embeddings/word_embeddings": _WORDS,
    "embeddings/position_embeddings": "position_embedding/embeddings",
    "embeddings/segment_embeddings": "type_embeddings/embeddings",
    "embeddings/layer_norm": "embeddings/layer_norm",
    "layer_{i}/attention/query": f"{_LAYER}/self_attention/query",
    "layer_{i}/attention/key": f"{_LAYER}/self_attention/key",
    "layer_{i}/attention/value": f"{_LAYER}/self_attention/value",
    "layer_{i}/attention/output": f"{_LAYER}/self_attention/attention_output",
    "layer_{i}/attention_layer_norm": f"{_LAYER}/self_attention_layer_norm",
    "layer_{i}/intermediate": f"{_LAYER}/intermediate",
    "layer_{i}/output": f"{_LAYER}/output",
    "layer_{i}/output_layer_norm": f"{_LAYER}/output_layer_norm",
    "pooler/dense": "pooler_transform",
    "masked_lm/transform": "cls/predictions/transform/dense",
    "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
    "masked_lm/output_bias": "cls/predictions/output_bias/bias",
    "next_sentence/dense": "predictions/transform/logits",
}


def is_model_garden(names: Mapping[str, StoredArray]) -> bool:
    """Tells the Model Garden's names from google-research/bert's."""
    return _WORDS in names


def from_model_garden(stored: Mapping[str, StoredArray], source: str) -> Arrays:
    """Renames and reshapes a `BertEncoder` or `BertPretrainerV2`.

    Raises InputError if a variable belongs to neither; `source` names the file
    in the message.
    """
    # The pretrainer's variables have the name of its model as a prefix.
    plain = {name.removeprefix("bert/"): a for name, a in stored.items()}
    arrays = to_paths(plain, weight_names(_NAMES), source)
    return {path: _merge_heads(path, array) for path, array in arrays.items()}


def _merge_heads(path, array):
    """Attention kernels [H, N, D] and [N, D, H], biases [N, D] -> H wide."""
    if "/attention/" not in path:
        return array
    if path.endswith("/bias"):
        return array.reshaped(math.prod(array.shape))
    if path.endswith("/output/kernel"):
        return array.reshaped(math.prod(array.shape[:-1]), array.shape[-1])
    return array.reshaped(array.shape[0], math.prod(array.shape[1:]))
