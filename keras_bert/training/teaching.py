"""What a network learns from a teacher, besides the labels of its batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_bert.training.objectives import Objective

Tensors = Mapping[str, tf.Tensor]


class Teaching(NamedTuple):
    """A network to train, and the labels of its further outputs.

    Attributes:
        network: The network of the run with more outputs. Its further weights
            are only for training.
        objectives: Those of all outputs.
        labels: Returns the labels of the further outputs, from the features of
            a batch or a part of it.
        weights: Returns the weights of these labels, from the features and the
            weights of the other labels.
    """

    network: keras.Model
    objectives: Mapping[str, Objective]
    labels: Callable[[Tensors], Tensors]
    weights: Callable[[Tensors, Tensors], Tensors]
