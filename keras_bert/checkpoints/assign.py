"""Arrays -> weights of a model; none is skipped silently."""

from __future__ import annotations

from collections.abc import Mapping

import keras
from absl import logging

from keras_bert.checkpoints.heads import heads_of
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError


def assign_weights(
    model: keras.Model, arrays: Mapping[str, StoredArray], source: str
) -> None:
    """Assigns to each weight of the model the array under its path.

    A whole head may be absent from the arrays or from the model; the log warns
    of one that keeps its random weights. Any other array that is missing,
    unused or of another shape raises InputError. `source` names the checkpoint
    in messages.
    """
    weights = {weight.path: weight for weight in model.weights}
    missing = weights.keys() - arrays.keys()
    unused = arrays.keys() - weights.keys()
    absent = heads_of(missing) - heads_of(arrays)
    left_over = heads_of(unused) - heads_of(weights)
    for paths, heads, what in (
        (missing, absent, "does not have the model's weight"),
        (unused, left_over, "has a weight that the model does not have:"),
    ):
        wrong = sorted(p for p in paths if p.split("/")[0] not in heads)
        if wrong:
            raise InputError(
                f"{source} {what} {wrong[0]} ({len(wrong)} in all); does the "
                "model config belong to this checkpoint?"
            )
    for path in weights.keys() & arrays.keys():
        if tuple(weights[path].shape) != arrays[path].shape:
            raise InputError(
                f"{source} has {path} of shape {arrays[path].shape}, but the "
                f"model has shape {tuple(weights[path].shape)}; does the "
                "model config belong to this checkpoint?"
            )
    for path in weights.keys() & arrays.keys():
        weights[path].assign(arrays[path].read())
    if absent:
        logging.warning(
            "%s has no %s, so %s of the model starts with random weights; "
            "train it before you use its outputs.",
            source,
            " and no ".join(sorted(absent)),
            "this part" if len(absent) == 1 else "each of these parts",
        )
