"""Heads on the encoder, and their names in other formats."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from absl import logging

from keras_bert.checkpoints.names import Arrays

# Matches the weight paths of the encoder; all other paths belong to heads. A
# checkpoint may have fewer or more heads than the model: each task has its own
# heads, and an encoder may have no pooler.
_ENCODER = re.compile(
    r"(embeddings|flatten_tokens|layer_\d+|final_layer_norm"
    r"|relative_positions)(/|$)"
)
# The prefix of the layers in ELECTRA's generator. These layers count as heads,
# because the encoder is the discriminator.
GENERATOR = "generator_"
# The layers between the encoder and an output layer. A model or a checkpoint
# can be complete without them.
POOLERS = {"pooler", "token_head"}


class HeadNames(NamedTuple):
    """The names of one output layer in several formats.

    Attributes:
        path: The layer's name in this package, with which the paths of its
            weights begin.
        google: The prefix of `output_weights` and `output_bias` in a
            google-research/bert checkpoint; None if google-research/bert has no
            such head.
        huggingface: The module's name in transformers; None if transformers has
            no such head.
        architecture: The class in transformers that has this head.
        num_outputs: The number of units that distinguishes this head from
            another head with the same name; None for any number.
        is_left_out: Whether only our own format can store the layer. Other
            formats leave out the layer, with a warning.

    Example:
        >>> (head,) = keras_bert.kinds.get_kind("span").hub.heads
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
    "classifier", "", "classifier", "BertForSequenceClassification"
)
# A part of some token classifiers.
CRF = HeadNames("crf", is_left_out=True)
LABEL_THRESHOLDS = HeadNames("label_thresholds", is_left_out=True)
MULTIPLE_CHOICE = HeadNames(
    "multiple_choice", None, "classifier", "BertForMultipleChoice", 1
)
NEXT_SENTENCE = HeadNames(
    "next_sentence", architecture="BertForNextSentencePrediction"
)
REGRESSOR = HeadNames(
    "regressor", "", "classifier", "BertForSequenceClassification", 1
)
SPAN_LABELER = HeadNames(
    "span_labeler", "cls/squad/", "qa_outputs", "BertForQuestionAnswering"
)
TOKEN_CLASSIFIER = HeadNames(
    "token_classifier", None, "classifier", "BertForTokenClassification"
)
_HEADS = [
    CLASSIFIER,
    CRF,
    LABEL_THRESHOLDS,
    MULTIPLE_CHOICE,
    NEXT_SENTENCE,
    REGRESSOR,
    SPAN_LABELER,
    TOKEN_CLASSIFIER,
]


def register_heads(heads: Iterable[HeadNames]) -> None:
    """Registers the output layers of a kind of task."""
    _HEADS.extend(head for head in heads if head not in _HEADS)


def known_heads() -> tuple[HeadNames, ...]:
    """Returns the output layers of our builders and of all registered kinds."""
    return tuple(_HEADS)


def heads_of(paths: Iterable[str]) -> set[str]:
    """Returns the heads to which the weights at the paths belong."""
    return {p.split("/")[0] for p in paths if not _ENCODER.match(p)}


def stored_heads(
    stored: Arrays, form: str, kernel: str, architectures: Collection[str] = ()
) -> dict[str, str]:
    """Returns the output layers in a file: our path -> the name in the file.

    Several of our heads may have the same name in a file. Of the heads whose
    number of outputs fits, a head of one of the `architectures` is preferred,
    and then a head with a `num_outputs`.

    Args:
        stored: The arrays of the file.
        form: The field of `HeadNames` with the names, such as "google".
        kernel: The end of a kernel's name. A kernel is [outputs, H].
        architectures: The names of the model's classes in transformers.
    """
    best_first = sorted(
        known_heads(),
        key=lambda h: (h.architecture in architectures, h.num_outputs or 0),
        reverse=True,
    )
    paths: dict[str, str] = {}
    for head in best_first:
        name = getattr(head, form)
        array = stored.get(f"{name}{kernel}")
        if array and head.num_outputs in (None, array.shape[0]):
            paths.setdefault(name, head.path)
    return {path: name for name, path in paths.items()}


def is_left_out(path: str) -> bool:
    """Returns whether only our own format can store the head `path`."""
    is_known = any(h.path == path and h.is_left_out for h in known_heads())
    return is_known or path.startswith(GENERATOR)


def without_left_out(arrays: Arrays) -> Arrays:
    """Returns the arrays without heads that only our own format can store.

    The log warns if there are such heads.
    """
    return leave_out(arrays, set(filter(is_left_out, heads_of(arrays))))


def leave_out(arrays: Arrays, heads: Collection[str]) -> Arrays:
    """Like `without_heads`, with a warning if there are `heads`."""
    if heads:
        logging.warning(
            "Leaving out %s, which the format cannot store.",
            ", ".join(sorted(heads)),
        )
    return without_heads(arrays, heads)


def with_prediction_heads(arrays: Arrays, paths: Collection[str]) -> Arrays:
    """Returns the arrays, plus the prediction heads that a ModernBERT needs.

    `paths` are the paths of the model's weights. A prediction head is between
    the encoder and an output layer. transformers names the prediction head
    `head` in every class, so in transformers a new classifier starts from the
    prediction head of the masked LM or of another classifier. This package does
    the same.
    """
    given = heads_of(arrays)
    added = {}
    for path in paths:
        part, _, name = path.partition("/")
        if part in POOLERS - given and f"{part}/layer_norm/gamma" in paths:
            of_lm = f"masked_lm/{name.replace('dense/', 'transform/')}"
            of_other = (f"{other}/{name}" for other in POOLERS - {part})
            for source in (of_lm, *of_other):
                if source in arrays:
                    added[path] = arrays[source]
    return {**arrays, **added}


def without_heads(arrays: Arrays, heads: Collection[str]) -> Arrays:
    """Returns the arrays that belong to none of the given heads."""
    return {p: a for p, a in arrays.items() if p.split("/")[0] not in heads}
