"""What training makes of labels: their loss, smoothing and weights."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.training.losses import (
    accuracy,
    cross_entropy,
    soft_cross_entropy,
)
from keras_bert.training.objectives import Objective

BALANCED = "balanced"
# The objectives of a kind whose answer is one of several labels.
ONE_LABEL = {
    "logits": Objective(
        cross_entropy, {"accuracy": accuracy}, soft_loss=soft_cross_entropy
    )
}


def smoothed_cross_entropy(
    labels: tf.Tensor, logits: tf.Tensor, *, label_smoothing: float
) -> tf.Tensor:
    """As `cross_entropy`, with a share of each label divided among all.

    Szegedy et al. 2016 (arXiv 1512.00567), section 7.
    """
    log_scores = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    of_all = -tf.reduce_mean(log_scores, axis=-1)
    of_label = cross_entropy(labels, logits)
    return (1 - label_smoothing) * of_label + label_smoothing * of_all


def smooth(
    objectives: Mapping[str, Objective],
    label_smoothing: float,
    loss: Callable[..., Any] = smoothed_cross_entropy,
) -> Mapping[str, Objective]:
    """Returns objectives whose loss is smoothed, if it should be."""
    if not label_smoothing:
        return objectives
    loss = functools.partial(loss, label_smoothing=label_smoothing)
    return {
        name: dataclasses.replace(objective, loss=loss)
        for name, objective in objectives.items()
    }


def parse_class_weights(text: str, labels: Sequence[str]) -> np.ndarray:
    """Returns a weight for each label; 1 for "" and "balanced".

    Raises InputError if the text is wrong.
    """
    weights = np.ones(len(labels))
    if text in ("", BALANCED):  # settings_from_data replaces "balanced"
        return weights
    names, signs, numbers = zip(
        *(part.strip().rpartition("=") for part in text.split(",")), strict=True
    )
    try:
        values = np.array(numbers, "float64")
    except ValueError:
        values = np.array([])
    is_right = values.size > 0 and (np.isfinite(values) & (values > 0)).all()
    if all(signs):
        if unknown := [name for name in names if name not in labels]:
            raise InputError(
                f"class_weights has the label {unknown[0]!r}, but the labels "
                f"are {', '.join(labels)}."
            )
        is_right &= len(set(names)) == len(names)
        places = [labels.index(name) for name in names]
    else:
        is_right &= not any(signs) and len(numbers) == len(labels)
        places = list(range(len(labels)))
    if not is_right:
        raise InputError(
            f"class_weights is {text!r}; give balanced, label=number for some "
            f"labels, or a number for each of the {len(labels)} labels; "
            "numbers are above 0, with commas between."
        )
    weights[places] = values
    return weights


def format_class_weights(weights: np.ndarray) -> str:
    """Returns the text that `parse_class_weights` reads."""
    return ",".join(f"{weight:.6g}" for weight in weights)
