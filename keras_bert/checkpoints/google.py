"""Names in google-research/bert (TF1) and Model Garden (TF2) <-> our paths."""

import math
import re
from collections.abc import Mapping

from keras_bert.checkpoints import names
from keras_bert.checkpoints.heads import (
    heads_of,
    known_heads,
    stored_heads,
    without_left_out,
)

_LAYER = "bert/encoder/layer_{i}"
GOOGLE_NAMES = {
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
_BLOCK = "transformer/layer_{i}"
_GARDEN_WORDS = "word_embeddings/embeddings"
_GARDEN = {
    "embeddings/word_embeddings": _GARDEN_WORDS,
    "embeddings/position_embeddings": "position_embedding/embeddings",
    "embeddings/segment_embeddings": "type_embeddings/embeddings",
    "embeddings/layer_norm": "embeddings/layer_norm",
    "layer_{i}/attention/query": f"{_BLOCK}/self_attention/query",
    "layer_{i}/attention/key": f"{_BLOCK}/self_attention/key",
    "layer_{i}/attention/value": f"{_BLOCK}/self_attention/value",
    "layer_{i}/attention/output": f"{_BLOCK}/self_attention/attention_output",
    "layer_{i}/attention_layer_norm": f"{_BLOCK}/self_attention_layer_norm",
    "layer_{i}/intermediate": f"{_BLOCK}/intermediate",
    "layer_{i}/output": f"{_BLOCK}/output",
    "layer_{i}/output_layer_norm": f"{_BLOCK}/output_layer_norm",
    "pooler/dense": "pooler_transform",
    "masked_lm/transform": "cls/predictions/transform/dense",
    "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
    "masked_lm/output_bias": "cls/predictions/output_bias/bias",
    "next_sentence/dense": "predictions/transform/logits",
}
# The state of the optimizer.
_STATE = re.compile(r"(.*/adam_[mv]|global_step)")


def from_google(stored: names.Arrays, source: str) -> names.Arrays:
    """Returns a checkpoint's weights, keyed by our weight paths.

    The optimizer's state is left out. Raises InputError if a variable does not
    belong to BERT; `source` is the file, for the message.
    """
    if _GARDEN_WORDS in stored:
        # In a pretrainer, the variables of the encoder have the prefix "bert/".
        plain = {name.removeprefix("bert/"): a for name, a in stored.items()}
        arrays = names.to_paths(plain, names.weight_names(_GARDEN), source)
        return {path: _merge_heads(path, a) for path, a in arrays.items()}
    weights = {
        x: array for x, array in stored.items() if not _STATE.fullmatch(x)
    }
    heads = stored_heads(weights, "google", "output_weights")
    return names.to_paths(weights, _table(heads), source)


def to_google(arrays: names.Arrays) -> names.Arrays:
    """Returns our weights, keyed by their names in google-research/bert.

    Raises InputError for a head that google-research/bert does not have.
    """
    arrays = without_left_out(arrays)
    heads = {
        head.path: head.google
        for head in known_heads()
        if head.path in heads_of(arrays) and head.google is not None
    }
    return names.to_names(arrays, _table(heads))


def _table(heads: Mapping[str, str]) -> dict[str, names.Name]:
    return names.weight_names(GOOGLE_NAMES) | names.weight_names(
        {"next_sentence/dense": "cls/seq_relationship/", **heads},
        transposed=True,
        kernel="output_weights",
        bias="output_bias",
    )


def _merge_heads(path: str, array: names.StoredArray) -> names.StoredArray:
    """Returns an attention weight without a separate axis for the heads.

    A kernel becomes [H, H], and a bias becomes [H]. Any other weight is
    returned as it is.
    """
    if "/attention/" not in path:
        return array
    if path.endswith("/bias"):
        return array.reshaped(math.prod(array.shape))
    if path.endswith("/output/kernel"):
        return array.reshaped(math.prod(array.shape[:-1]), array.shape[-1])
    return array.reshaped(array.shape[0], math.prod(array.shape[1:]))
