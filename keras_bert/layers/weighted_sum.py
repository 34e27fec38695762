"""The hidden states of several layers -> one, weighted by what is learned."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class WeightedSum(keras.layers.Layer):
    """K tensors of one shape -> their mean, weighted by a softmax of [K].

    At first all weigh the same.
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
