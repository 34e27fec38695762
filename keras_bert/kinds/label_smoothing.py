"""Label smoothing: the loss of training asks for less than certainty.

Szegedy et al., 2016 (arXiv 1512.00567), section 7.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_bert.training.losses import cross_entropy
from keras_bert.training.objectives import Objective


def smoothed_cross_entropy(
    labels: tf.Tensor, logits: tf.Tensor, *, label_smoothing: float
) -> tf.Tensor:
    """As `cross_entropy`, with a share of each label divided among all."""
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
