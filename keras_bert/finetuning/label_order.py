"""The output layer of a checkpoint -> one with the labels in a task's order."""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import find_spec, has_spec

# The axes of the labels in the weights of an output layer.
_AXES = {
    "kernel": (1,),
    "bias": (0,),
    "thresholds": (0,),
    "transitions": (0, 1),
}


def load_in_order(
    load: Callable[..., None],
    model: keras.Model,
    kind: Kind,
    checkpoint: str | Path | Checkpoint,
    bert_config: BertConfig,
    *,
    new_head: bool,
) -> None:
    """Loads a checkpoint with `load_checkpoint` or `load_to_train`."""
    found, places = Checkpoint.of(checkpoint), None
    if not new_head:
        places = label_places(kind, found, bert_config)
    load(model, found, new_head=new_head)
    if not places:
        return
    if places == sorted(places):
        logging.warning(
            "The output layer of %s is taken for one for the labels %s, in "
            "this order; give new_head if it is for other labels.",
            found.place,
            ", ".join(kind.spec.labels),
        )
    else:
        _reorder(model, kind, places)


def label_places(
    kind: Kind, checkpoint: str | Path | Checkpoint, bert_config: BertConfig
) -> list[int] | None:
    """Returns the place of each label of a kind in a checkpoint's labels.

    None if the checkpoint has the same labels, labels without names, or no
    output layer for the kind. As many labels, all of other names, are taken
    for the same ones.

    Raises InputError if the checkpoint has other labels.
    """
    labels, found = kind.spec.labels, Checkpoint.of(checkpoint)
    given = find_spec(found, bert_config).labels if has_spec(found) else ()
    if not (labels and given) or given == labels:
        return None
    if not _heads(kind) & found.heads:
        return None
    if set(given) == set(labels):
        return [given.index(label) for label in labels]
    if len(given) == len(labels) and not set(given) & set(labels):
        return list(range(len(labels)))  # LABEL_0, LABEL_1 of the Hub
    raise InputError(
        f"{found.place} answers with the labels {', '.join(given):.300}, but "
        f"the task has {', '.join(labels):.300}; give new_head (--new_head) to "
        "train a new output layer on its encoder."
    )


def _reorder(model, kind, places):
    """Moves the rows of an output layer to the places of their labels."""
    logging.info(
        "The checkpoint has the labels in another order than the task; the "
        "rows of its output layer are put into the order of the task."
    )
    for weight in model.weights:
        head, *_, name = weight.path.split("/")
        if head not in _heads(kind):
            continue
        axes, values = _AXES.get(name, ()), np.array(weight)
        if not axes or {values.shape[axis] for axis in axes} != {len(places)}:
            raise InputError(
                f"The checkpoint has the labels in another order than "
                f"{', '.join(kind.spec.labels):.300}, and {weight.path} cannot "
                "be put into this order; give the task the labels in the order "
                "of the checkpoint, or train a new output layer with new_head."
            )
        for axis in axes:
            values = np.take(values, places, axis)
        weight.assign(values)


def _heads(kind):
    return {head.path for head in kind.head_names}
