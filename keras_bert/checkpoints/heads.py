"""Heads on the encoder, and what other formats call them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from absl import logging

from keras_bert.checkpoints.stored import StoredArray
from keras_bert.kinds import known_heads
from keras_bert.kinds.kind import HeadNames

# All other parts are heads. A checkpoint may lack them or have more of them
# than the model: each task has its own, and an encoder can have no pooler.
_ENCODER = re.compile(r"(embeddings|layer_\d+)(/|$)")


def heads_of(paths: Iterable[str]) -> set[str]:
    """Returns the heads that have a weight among the paths."""
    return {p.split("/")[0] for p in paths if not _ENCODER.match(p)}


def choose_head(
    heads: Collection[HeadNames],
    num_outputs: int,
    architectures: Collection[str] = (),
) -> HeadNames | None:
    """Returns which of the heads that share a name elsewhere is meant.

    It has one of the `architectures`, if any head has, and a number of outputs
    that fits. Among these, a head with just this number comes first.
    """
    fitting = [h for h in heads if h.num_outputs in (None, num_outputs)]
    named = [h for h in fitting if h.architecture in architectures]
    return max(named or fitting, key=lambda h: h.num_outputs or 0, default=None)


def without_left_out(
    arrays: Mapping[str, StoredArray],
) -> dict[str, StoredArray]:
    """Leaves out the heads that only our own format has, with a warning."""
    left_out = {head.path for head in known_heads() if head.is_left_out}
    for head in heads_of(arrays) & left_out:
        logging.warning("The format has no place for %s; it is left out.", head)
    return {p: a for p, a in arrays.items() if p.split("/")[0] not in left_out}
