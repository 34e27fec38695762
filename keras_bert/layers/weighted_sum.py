"""A learned weighted mean of the hidden states of several layers."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class WeightedSum(keras.layers.Layer):
    """The mean of K tensors, weighted by a softmax over K learned scores.

    Initially all weights are equal.
    """

    def build(self, shapes):
        self.scores = self.add_weight(
            name="scores", shape=(len(shapes),), initializer="zeros"
        )

    def call(self, tensors):
        weights = ops.softmax(self.scores)
        return sum(weights[i] * x for i, x in enumerate(tensors))

    def compute_output_spec(self, tensors):
        return keras.KerasTensor(tensors[0].shape, self.compute_dtype)
