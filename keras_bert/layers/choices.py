"""[B, C, S] <-> the rows [B*C, S] that the encoder reads; C choices."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class FoldChoices(keras.layers.Layer):
    """[B, C, S] -> [B*C, S]: each choice is a text of its own."""

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[-1]))

    def compute_output_spec(self, x):
        return keras.KerasTensor((None, x.shape[-1]), x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class UnfoldChoices(keras.layers.Layer):
    """Scores [B*C, 1] and any [B, C, S] before folding -> scores [B, C]."""

    def call(self, scores, like):
        return ops.reshape(scores, (-1, ops.shape(like)[1]))

    def compute_output_spec(self, scores, like):
        return keras.KerasTensor(like.shape[:2], scores.dtype)
