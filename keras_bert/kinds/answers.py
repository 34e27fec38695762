"""The outputs of a network -> answers, with NumPy, for each kind.

These functions replace the signature `serving_default` where TensorFlow is not
installed. A kind whose `decode` works in NumPy calls them too. In the arrays,
strings are bytes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# A logit so low that its score is 0, such as the logit of padding.
NEVER = -1e9
Array = np.ndarray
Arrays = dict[str, Array]


def _classification(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    scores = _softmax(outputs["logits"])
    return {"label": labels[scores.argmax(axis=-1)], "scores": scores}


def _multilabel(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    is_given = outputs["is_given"]
    given = np.full(is_given.shape, b"", object)
    for row, mask in zip(given, is_given, strict=True):
        row[: mask.sum()] = labels[mask]
    scores = sigmoid(outputs["logits"])
    return {"labels": given, "scores": scores.astype("float32")}


def _multiple_choice(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    scores = _softmax(outputs["logits"])
    return {"choice": scores.argmax(axis=-1).astype("int32"), "scores": scores}


def _regression(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    score = outputs["logits"][:, 0]
    bounds = settings["min_value"], settings["max_value"]
    return {"score": score if bounds == (None, None) else score.clip(*bounds)}


def _reranker(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    score = outputs["logits"][:, 0]
    if settings["score_activation"] != "linear":
        score = sigmoid(score).astype("float32")
    return {"score": score}


def _embedding(outputs: Arrays, labels: Array, settings: Any) -> Arrays:
    """Returns the vector of a single text, or similarities of several texts.

    The vectors are [B, C, H]: each row has C texts, the first of which is
    compared with every other text.
    """
    vectors = outputs["embeddings"]
    if vectors.shape[1] == 1:
        return {"embedding": vectors[:, 0]}
    if settings["similarity"] == "cosine":
        vectors = unit_vectors(vectors)
    similarities = (vectors[:, 1:] @ vectors[:, 0, :, None])[..., 0]
    if vectors.shape[1] == 2:
        return {"similarity": similarities[:, 0]}
    return {"similarities": similarities}


def unit_vectors(vectors: Array) -> Array:
    """Returns vectors [..., H], scaled to norm 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def sigmoid(logits: Array) -> Array:
    """Returns the sigmoid in float64, so that equal logits have equal scores.

    TensorFlow's sigmoid may give equal logits scores that differ in the last
    bit, and a threshold could lie between these scores.
    """
    with np.errstate(over="ignore"):  # then the score is 0
        return 1 / (1 + np.exp(-logits.astype("float64")))


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# Each function takes the outputs, the labels and the settings in `task.json`.
ANSWERS: Mapping[str, Callable[[Arrays, Array, Any], Arrays]] = {
    "classification": _classification,
    "next_sentence": _classification,
    "multilabel": _multilabel,
    "multiple_choice": _multiple_choice,
    "regression": _regression,
    "reranker": _reranker,
    "embedding": _embedding,
}
