"""[B, R, S] <-> [B*R, S]: examples with R rows of choices, and rows."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class FoldChoices(keras.layers.Layer):
    """[B, R, S] -> [B*R, S]."""

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[-1]))

    def compute_output_spec(self, x):
        return keras.KerasTensor((None, x.shape[-1]), x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class UnfoldChoices(keras.layers.Layer):
    """[B*R, K] or [B*R, K, H], and a tensor [B, R, S] -> [B, R*K, ...].

    A row holds K choices, and an example has R * K choices. The second tensor
    gives R; it is an input of `FoldChoices`.
    """

    def call(self, x, like):
        num_choices = ops.shape(like)[1] * ops.shape(x)[1]
        return ops.reshape(x, (-1, num_choices, *x.shape[2:]))

    def compute_output_spec(self, x, like):
        return keras.KerasTensor((like.shape[0], None, *x.shape[2:]), x.dtype)
