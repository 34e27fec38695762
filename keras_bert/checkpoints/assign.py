"""Arrays -> model; nothing is left out silently."""

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
    """Gives each weight of the model the array under its path.

    A head may be absent as a whole, on either side, and is then named in the
    log. Anything else missing, unused or of another shape raises InputError;
    `source` is where the arrays come from, for these messages.
    """
    weights = {weight.path: weight for weight in model.weights}
    missing = weights.keys() - arrays.keys()
    unused = arrays.keys() - weights.keys()
    # Only whole heads may be absent, or be left over.
    absent = heads_of(missing) - heads_of(arrays)
    left = heads_of(unused) - heads_of(weights)
    for paths, heads, what in (
        (missing, absent, "has no weight"),
        (unused, left, "has a weight the model has not,"),
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
                f"{source} has {path} of shape {arrays[path].shape}, the "
                f"model of shape {tuple(weights[path].shape)}; does the "
                "model config belong to this checkpoint?"
            )
    for path in weights.keys() & arrays.keys():
        weights[path].assign(arrays[path].read())
    if absent or left:
        logging.info(
            "%s: not in the checkpoint, as initialized: %s; not in the model: "
            "%s",
            source,
            ", ".join(sorted(absent)) or "nothing",
            ", ".join(sorted(left)) or "nothing",
        )
