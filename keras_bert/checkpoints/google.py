"""Names of weights in google-research/bert (TF1), read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keras_bert.checkpoints.heads import (
    choose_head,
    heads_of,
    known_heads,
    without_left_out,
)
from keras_bert.checkpoints.names import NameTable, modules
from keras_bert.checkpoints.stored import StoredArray

_LAYER = "bert/encoder/layer_{i}"
_NAMES = {
    "embeddings/word_embeddings": "bert/embeddings/word_embeddings",
    "embeddings/position_embeddings": "bert/embeddings/position_embeddings",
    "embeddings/segment_embeddings": "bert/embeddings/token_type_embeddings",
    "masked_lm/output_bias": "cls/predictions/output_bias",
}
_DENSE = {
    "layer_{i}/attention/query": f"{_LAYER}/attention/self/query",
    "layer_{i}/attention/key": f"{_LAYER}/attention/self/key",
    "layer_{i}/attention/value": f"{_LAYER}/attention/self/value",
    "layer_{i}/attention/output": f"{_LAYER}/attention/output/dense",
    "layer_{i}/intermediate": f"{_LAYER}/intermediate/dense",
    "layer_{i}/output": f"{_LAYER}/output/dense",
    "pooler/dense": "bert/pooler/dense",
    "masked_lm/transform": "cls/predictions/transform/dense",
}
_LAYER_NORMS = {
    "embeddings/layer_norm": "bert/embeddings/LayerNorm",
    "layer_{i}/attention_layer_norm": f"{_LAYER}/attention/output/LayerNorm",
    "layer_{i}/output_layer_norm": f"{_LAYER}/output/LayerNorm",
    "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
}
_TRAINING_STATE = re.compile(r"(.*/adam_[mv]|global_step)")


def from_google(
    stored: Mapping[str, StoredArray], source: str
) -> dict[str, StoredArray]:
    """Renames a released or fine-tuned checkpoint, without optimizer slots.

    Raises InputError if a variable does not belong to BERT; `source` names the
    file in the message.
    """
    weights = {
        name: array
        for name, array in stored.items()
        if not _TRAINING_STATE.fullmatch(name)
    }
    outputs = {}
    prefixes = {head.google for head in known_heads()} - {None}
    for prefix in prefixes:
        kernel = weights.get(f"{prefix}output_weights")
        if kernel is not None:
            heads = [h for h in known_heads() if h.google == prefix]
            if head := choose_head(heads, kernel.shape[0]):
                outputs[head.path] = prefix
    return _table(outputs).to_paths(weights, source)


def to_google(arrays: Mapping[str, StoredArray]) -> dict[str, StoredArray]:
    """Renames our weights to the names in google-research/bert.

    Raises InputError for a head that google-research/bert does not have.
    """
    arrays = without_left_out(arrays)
    heads = heads_of(arrays)
    outputs = {
        head.path: head.google
        for head in known_heads()
        if head.path in heads and head.google is not None
    }
    return _table(outputs).to_names(arrays)


def _table(outputs):
    # google-research/bert stores these kernels as [units, H], all others as
    # [H, units].
    outputs = {"next_sentence/dense": "cls/seq_relationship/", **outputs}
    return NameTable(
        _NAMES
        | modules(_DENSE, {"/kernel": "/kernel", "/bias": "/bias"})
        | modules(_LAYER_NORMS, {"/gamma": "/gamma", "/beta": "/beta"})
        | modules(
            outputs, {"/kernel": "output_weights", "/bias": "output_bias"}
        ),
        transposed=[f"{path}/kernel" for path in outputs],
    )
