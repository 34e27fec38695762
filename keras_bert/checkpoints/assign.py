"""Arrays -> model; nothing is left out silently."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np
from absl import logging

# Parts that a checkpoint may lack, or have beyond the model: each task has
# its own head, and an encoder can come without a pooler.
_HEADS = ("classifier", "masked_lm", "next_sentence", "pooler", "regressor")


def assign_weights(
    model: keras.Model, arrays: Mapping[str, np.ndarray], source: str
) -> None:
    """Gives each weight of the model the array under its path.

    A head may be absent as a whole, on either side, and is then named in the
    log. Anything else missing, unused or of another shape raises ValueError;
    `source` is where the arrays come from, for these messages.
    """
    weights = {weight.path: weight for weight in model.weights}
    missing = weights.keys() - arrays.keys()
    unused = arrays.keys() - weights.keys()
    absent = _whole_heads(missing, arrays)
    left = _whole_heads(unused, weights)
    for paths, heads, what in (
        (missing, absent, "has no weight"),
        (unused, left, "has a weight the model has not,"),
    ):
        wrong = sorted(p for p in paths if p.split("/")[0] not in heads)
        if wrong:
            raise ValueError(
                f"{source} {what} {wrong[0]} ({len(wrong)} in all); does the "
                "model config belong to this checkpoint?"
            )
    for path in weights.keys() & arrays.keys():
        if tuple(weights[path].shape) != arrays[path].shape:
            raise ValueError(
                f"{source} has {path} of shape {arrays[path].shape}, the "
                f"model of shape {tuple(weights[path].shape)}; does the "
                "model config belong to this checkpoint?"
            )
    for path in weights.keys() & arrays.keys():
        weights[path].assign(arrays[path])
    if absent or left:
        logging.info(
            "%s: not in the checkpoint, as initialized: %s; not in the model: "
            "%s",
            source,
            ", ".join(sorted(absent)) or "nothing",
            ", ".join(sorted(left)) or "nothing",
        )


def _whole_heads(paths, other_side):
    """The heads of `paths` of which the other side has no weight at all."""
    there = {path.split("/")[0] for path in other_side}
    return {p.split("/")[0] for p in paths} & set(_HEADS) - there
