"""The loss of the masked LM; next sentence is plain cross-entropy."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class MaskedLMLoss(keras.losses.Loss):
    """sum(weights * cross-entropy) / (sum(weights) + 1e-5), in float32.

    Called on ids [B, P], logits [B, P, V] and weights [B, P]: the mean over
    the masked tokens of the batch, and not over its padded positions, as in
    google-research/bert, run_pretraining.py.
    """

    def __init__(self, name="masked_lm_loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = ops.sparse_categorical_crossentropy(
            y_true, ops.cast(y_pred, "float32"), from_logits=True
        )
        if sample_weight is None:
            return ops.mean(losses)
        weights = ops.cast(sample_weight, "float32")
        return ops.sum(weights * losses) / (ops.sum(weights) + 1e-5)
