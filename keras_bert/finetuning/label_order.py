"""A checkpoint's output layer -> the same layer with the task's label order."""

import re
from collections.abc import Sequence

import keras
import numpy as np
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import find_spec, has_spec

# A Hub model has labels such as "LABEL_0" if nobody named them.
_NO_NAME = re.compile(r"(LABEL_)?\d+", re.IGNORECASE)


def label_places(
    kind: Kind, checkpoint: Checkpoint, bert_config: BertConfig, new_head: bool
) -> list[int] | None:
    """Returns the index of each label of a kind in a checkpoint's labels.

    Returns None if the checkpoint has the kind's labels in the kind's order, no
    labels, or no output layer for the kind, or if there will be a new output
    layer. Names that differ only in case are treated as equal. If the
    checkpoint or the kind has labels without names, such as LABEL_0 or 0, and
    both have the same number of labels, the labels are treated as equal, in the
    order of their numbers, not of their strings: "2" comes before "10".

    Raises InputError if the labels of the checkpoint are not those of the kind.
    """
    labels = kind.spec.labels
    stored: tuple[str, ...] = ()
    if not new_head and labels and has_spec(checkpoint):
        stored = find_spec(checkpoint, bert_config).labels
    if stored in ((), labels) or not _heads(kind) & checkpoint.heads:
        return None
    for form in (str, str.casefold):
        theirs, ours = (list(map(form, names)) for names in (stored, labels))
        if len({*theirs} & {*ours}) == len(stored) == len(labels):
            places = [theirs.index(name) for name in ours]
            return None if places == sorted(places) else places
    # If the files of a model name no labels, the labels are the `hub.labels`.
    has_no_names = stored == kind.hub.labels or any(
        all(map(_NO_NAME.fullmatch, names)) for names in (stored, labels)
    )
    is_other = not set(stored) & set(labels)
    if has_no_names and is_other and len(stored) == len(labels):
        ranks = _ranks(stored)
        return [ranks.index(rank) for rank in _ranks(labels)]
    raise InputError(
        f"{checkpoint.place} answers with the labels "
        f"{', '.join(stored):.300}, but the task has {', '.join(labels):.300}; "
        "give new_head (--new_head) to train a new output layer on the "
        "checkpoint's encoder or, if the labels mean the same, give them the "
        "same names."
    )


def reorder(
    model: keras.Model, kind: Kind, checkpoint: Checkpoint, places: list[int]
) -> None:
    """Puts the rows of a loaded output layer into the order of the labels."""
    if places == sorted(places):
        logging.warning(
            "The output layer of %s, with the labels %s, is assumed to be for "
            "the labels %s, in this order; give new_head if it is for other "
            "labels.",
            checkpoint.place,
            ", ".join(find_spec(checkpoint, checkpoint.config).labels),
            ", ".join(kind.spec.labels),
        )
        return
    logging.info(
        "The checkpoint and the task have their labels in different orders; "
        "the rows of the checkpoint's output layer are put into the order of "
        "the task."
    )
    for weight in model.weights:
        head, *_, name = weight.path.split("/")
        if head not in _heads(kind):
            continue
        values = np.array(weight)
        axes = [i for i, x in enumerate(values.shape) if x == len(places)]
        if name == "kernel":  # [H, L]: only the last axis has labels
            axes = axes[-1:]
        if not axes:
            raise InputError(
                f"{weight.path} cannot be put into the order of the labels "
                f"{', '.join(kind.spec.labels):.300}; give them in the order "
                "of the checkpoint, or give new_head to train a new output "
                "layer."
            )
        for axis in axes:
            values = np.take(values, places, axis)
        weight.assign(values)


def _ranks(names: Sequence[str]) -> list[int]:
    """Returns the rank of the number in each name.

    If the names have no distinct numbers, returns the index of each name.
    """
    numbers = [x.rpartition("_")[2] for x in names if _NO_NAME.fullmatch(x)]
    if len(set(map(int, numbers))) < len(names):
        return list(range(len(names)))
    return [sorted(numbers, key=int).index(x) for x in numbers]


def _heads(kind: Kind) -> set[str]:
    return {head.path for head in kind.hub.heads}
