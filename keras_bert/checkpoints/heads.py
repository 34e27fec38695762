"""Heads on the encoder, named by the first part of their weights' paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keras_bert.checkpoints.stored import StoredArray

# A checkpoint may lack these parts or have them beyond the model: each task has
# its own head, and an encoder can have no pooler.
HEADS = frozenset(
    {
        "bilstm_0",
        "bilstm_1",
        "classifier",
        "layer_weights",
        "masked_lm",
        "multiple_choice",
        "next_sentence",
        "pooler",
        "regressor",
        "span_labeler",
        "token_classifier",
    }
)


def heads_of(paths: Iterable[str]) -> set[str]:
    """Returns the heads that have a weight among the paths."""
    return {path.split("/")[0] for path in paths} & HEADS


def rename_head(
    arrays: Mapping[str, StoredArray], old: str, new: str
) -> dict[str, StoredArray]:
    """Moves the weights of a head to the paths of another head."""
    return {
        new + path.removeprefix(old) if path.startswith(f"{old}/") else path: a
        for path, a in arrays.items()
    }
