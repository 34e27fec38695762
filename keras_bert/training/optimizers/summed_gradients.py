"""Clipping of what all replicas have found, not of each replica's part."""

from __future__ import annotations

from keras_bert.training.optimizers.parts import sum_over_replicas, to_dense


class SumsGradients:
    """Sums the gradients over the replicas before it clips them.

    So the update does not depend on how a batch is split. Keras clips the
    gradients of each replica, and takes the rows of an embedding that occur
    several times in a batch for different rows.

    A base of an optimizer, before Keras' class.
    """

    def apply(self, grads, trainable_variables=None):
        # The reference makes the gradient of an embedding dense as well: its
        # moments decay for every row at every step.
        grads = [g if g is None else to_dense(g) for g in grads]
        super().apply(grads, trainable_variables)

    def _clip_gradients(self, grads):
        return super()._clip_gradients(sum_over_replicas(grads))

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return grads_and_vars  # `_clip_gradients` has summed them
