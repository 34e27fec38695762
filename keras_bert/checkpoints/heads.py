"""Heads on the encoder, and what other formats call them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from absl import logging

_Array = TypeVar("_Array")
# All other parts are heads. A checkpoint may lack them or have more of them
# than the model: each task has its own, and an encoder can have no pooler.
_ENCODER = re.compile(r"(embeddings|layer_\d+)(/|$)")


class HeadNames(NamedTuple):
    """The names of the output layer of a kind in several formats.

    Attributes:
        path: The layer's name here, the first part of its weights' paths.
        google: The prefix of `output_weights` and `output_bias` in a
            checkpoint of google-research/bert; None if it has no such head.
        huggingface: The module's name in transformers, or None.
        architecture: The class in transformers that has this head.
        num_outputs: The number of units that tells this head from another
            one with the same name; None for any number.
        is_left_out: Whether other formats have no place for it, and it is
            left out there with a warning.

    Example:
        >>> (head,) = keras_bert.kinds.get_kind("span").head_names
        >>> head.path, head.huggingface
        ('span_labeler', 'qa_outputs')
    """

    path: str
    google: str | None = None
    huggingface: str | None = None
    architecture: str = ""
    num_outputs: int | None = None
    is_left_out: bool = False


CLASSIFIER = HeadNames(
    "classifier",
    google="",
    huggingface="classifier",
    architecture="BertForSequenceClassification",
)
LABEL_THRESHOLDS = HeadNames("label_thresholds", is_left_out=True)
MULTIPLE_CHOICE = HeadNames(
    "multiple_choice",
    huggingface="classifier",
    architecture="BertForMultipleChoice",
    num_outputs=1,
)
REGRESSOR = HeadNames(
    "regressor",
    google="",
    huggingface="classifier",
    architecture="BertForSequenceClassification",
    num_outputs=1,
)
SPAN_LABELER = HeadNames(
    "span_labeler",
    google="cls/squad/",
    huggingface="qa_outputs",
    architecture="BertForQuestionAnswering",
)
TOKEN_CLASSIFIER = HeadNames(
    "token_classifier",
    huggingface="classifier",
    architecture="BertForTokenClassification",
)
_HEADS = [
    CLASSIFIER,
    LABEL_THRESHOLDS,
    MULTIPLE_CHOICE,
    REGRESSOR,
    SPAN_LABELER,
    TOKEN_CLASSIFIER,
]


def register_heads(heads: Iterable[HeadNames]) -> None:
    """Makes the output layers of a kind of task known."""
    _HEADS.extend(head for head in heads if head not in _HEADS)


def known_heads() -> tuple[HeadNames, ...]:
    """Returns the output layers of the builders and of all known kinds."""
    return tuple(_HEADS)


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


def without_left_out(arrays: Mapping[str, _Array]) -> dict[str, _Array]:
    """Leaves out the heads that only our own format has, with a warning."""
    left_out = {head.path for head in known_heads() if head.is_left_out}
    for head in heads_of(arrays) & left_out:
        logging.warning("The format has no place for %s; it is left out.", head)
    return {p: a for p, a in arrays.items() if p.split("/")[0] not in left_out}
