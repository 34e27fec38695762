"""A network that another runtime computes, called like its Keras model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

# Takes and returns arrays by name.
Run = Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]]


class Network:
    """Stands in for a `keras.Model` when a kind of task answers texts.

    Attributes:
        input: The specifications of the inputs, by name.
        output: The specifications of the outputs, by name.
    """

    def __init__(
        self,
        run: Run,
        inputs: Mapping[str, tf.TensorSpec],
        outputs: Mapping[str, tf.TensorSpec],
    ):
        self.input = dict(inputs)
        self.output = dict(outputs)
        self._run = run

    def __call__(
        self, features: Mapping[str, tf.Tensor], training: bool = False
    ) -> dict[str, tf.Tensor]:
        """Returns the outputs by name, in a graph or eagerly."""
        tensors = tf.numpy_function(
            self._compute,
            [features[name] for name in self.input],
            [spec.dtype for spec in self.output.values()],
        )
        # Of one output, TensorFlow returns the tensor instead of a list.
        tensors = tf.nest.flatten(tensors)
        outputs = dict(zip(self.output, tensors, strict=True))
        for name, spec in self.output.items():
            outputs[name].set_shape(spec.shape)
        return outputs

    def _compute(self, *arrays):
        outputs = self._run(dict(zip(self.input, arrays, strict=True)))
        return [outputs[name] for name in self.output]


def to_specs(tensors: Mapping) -> dict[str, tf.TensorSpec]:
    """Returns the specifications of `model.input` or `model.output`."""
    return {
        name: tf.TensorSpec(x.shape, x.dtype, name)
        for name, x in tensors.items()
    }


def num_threads() -> int:
    """Returns the number of threads of a runtime, one for each core."""
    return len(os.sched_getaffinity(0))
