"""Accuracy while training; the tasks' official metrics are elsewhere."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_bert")
class SparseAccuracy(keras.metrics.Mean):
    """The weighted share of ids [...] that are the argmax of logits [..., V].

    Keras' own accuracy first rewrites the negative zeros of the logits, which
    for a vocabulary of 30,522 takes longer than the loss.
    """

    def __init__(self, name="accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        correct = tf.argmax(y_pred, -1, tf.int32) == tf.cast(y_true, tf.int32)
        return super().update_state(
            tf.cast(correct, tf.float32), sample_weight=sample_weight
        )
