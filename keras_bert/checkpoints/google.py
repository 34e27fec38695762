"""Names of weights in google-research/bert (TF1), read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keras_bert.checkpoints.heads import (
    heads_of,
    known_heads,
    stored_heads,
    without_left_out,
)
from keras_bert.checkpoints.names import (
    Arrays,
    StoredArray,
    to_names,
    to_paths,
    weight_names,
)

_LAYER = "bert/encoder/layer_{i}"
_ENCODER = {
    "embeddings/word_embeddings": "bert/embeddings/word_embeddings",
    "embeddings/position_embeddings": "bert/embeddings/position_embeddings",
    "embeddings/segment_embeddings": "bert/embeddings/token_type_embeddings",
    "embeddings/layer_norm": "bert/embeddings/LayerNorm",
    "layer_{i}/attention/query": f"{_LAYER}/attention/self/query",
    "layer_{i}/attention/key": f"{_LAYER}/attention/self/key",
    "layer_{i}/attention/value": f"{_LAYER}/attention/self/value",
    "layer_{i}/attention/output": f"{_LAYER}/attention/output/dense",
    "layer_{i}/attention_layer_norm": f"{_LAYER}/attention/output/LayerNorm",
    "layer_{i}/intermediate": f"{_LAYER}/intermediate/dense",
    "layer_{i}/output": f"{_LAYER}/output/dense",
    "layer_{i}/output_layer_norm": f"{_LAYER}/output/LayerNorm",
    "pooler/dense": "bert/pooler/dense",
    "masked_lm/transform": "cls/predictions/transform/dense",
    "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
    "masked_lm/output_bias": "cls/predictions/output_bias",
}
_TRAINING_STATE = re.compile(r"(.*/adam_[mv]|global_step)")


def from_google(stored: Mapping[str, StoredArray], source: str) -> Arrays:
    """Renames a released or fine-tuned checkpoint, without optimizer slots.

    Raises InputError if a variable does not belong to BERT; `source` names the
    file in the message.
    """
    weights = {
        name: array
        for name, array in stored.items()
        if not _TRAINING_STATE.fullmatch(name)
    }
    heads = stored_heads(weights, "google", "output_weights")
    names, transposed = _table(heads)
    return to_paths(weights, names, source, transposed)


def to_google(arrays: Mapping[str, StoredArray]) -> Arrays:
    """Renames our weights to the names in google-research/bert.

    Raises InputError for a head that google-research/bert does not have.
    """
    arrays = without_left_out(arrays)
    heads = {
        head.path: head.google
        for head in known_heads()
        if head.path in heads_of(arrays) and head.google is not None
    }
    return to_names(arrays, *_table(heads))


def _table(heads):
    """Returns the names, and the paths whose arrays are stored transposed."""
    heads = weight_names(
        {"next_sentence/dense": "cls/seq_relationship/", **heads},
        kernel="output_weights",
        bias="output_bias",
    )
    kernels = [path for path in heads if path.endswith("/kernel")]
    return weight_names(_ENCODER) | heads, kernels
