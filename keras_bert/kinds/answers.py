"""Outputs of a network -> answers, by kind, where TensorFlow is not installed.

They are the answers of `serving_default`, in arrays. Strings are bytes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def _classification(outputs, labels, settings):
    scores = _softmax(outputs["logits"])
    return {"label": labels[scores.argmax(axis=-1)], "scores": scores}


def _multilabel(outputs, labels, settings):
    is_given = outputs["is_given"]
    given = np.full(is_given.shape, b"", object)
    for row, mask in zip(given, is_given, strict=True):
        row[: mask.sum()] = labels[mask]
    return {"labels": given, "scores": _sigmoid(outputs["logits"])}


def _multiple_choice(outputs, labels, settings):
    scores = _softmax(outputs["logits"])
    return {"choice": scores.argmax(axis=-1).astype("int32"), "scores": scores}


def _regression(outputs, labels, settings):
    score = outputs["logits"][:, 0]
    bounds = settings["min_value"], settings["max_value"]
    return {"score": score if bounds == (None, None) else score.clip(*bounds)}


def _reranker(outputs, labels, settings):
    score = outputs["logits"][:, 0]
    is_linear = settings["score_activation"] == "linear"
    return {"score": score if is_linear else _sigmoid(score)}


def _embedding(outputs, labels, settings):
    """One text gets a vector, two get their similarity."""
    vectors = outputs["embeddings"]
    if vectors.shape[1] == 1:
        return {"embedding": vectors[:, 0]}
    if settings["similarity"] == "cosine":
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        vectors = vectors / np.maximum(lengths, 1e-6)
    return {"similarity": (vectors[:, 0] * vectors[:, 1]).sum(axis=-1)}


def _softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _sigmoid(logits):
    return np.exp(-np.logaddexp(0, -logits))


# They take the outputs, the labels and the settings in `task.json`.
ANSWERS: Mapping[str, Callable[[Arrays, np.ndarray, Any], Arrays]] = {
    "classification": _classification,
    "next_sentence": _classification,
    "multilabel": _multilabel,
    "multiple_choice": _multiple_choice,
    "regression": _regression,
    "reranker": _reranker,
    "embedding": _embedding,
}
