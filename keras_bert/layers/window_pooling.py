"""The outputs for the windows of a text -> one output for the text."""

import keras
from keras import ops

POOLINGS = ("mean", "max")
# Below every logit, and finite: an infinite number would make a gradient NaN.
_LOWEST = -1e9


@keras.saving.register_keras_serializable(package="keras_bert")
class WindowPooling(keras.layers.Layer):
    """[B*W, ...] and the input mask [B, W, S] -> [B, ...].

    The pooling "mean" or "max" is over the windows with a token, and for each
    number on its own. It computes in float32.
    """

    def __init__(self, pooling: str, **kwargs):
        super().__init__(**kwargs)
        if pooling not in POOLINGS:
            raise ValueError(
                f"The pooling is {pooling!r}; choose from "
                f"{', '.join(POOLINGS)}."
            )
        self.pooling = pooling

    def call(self, x, input_mask):
        has_token = ops.any(input_mask > 0, axis=-1)  # [B, W]
        shape = ops.shape(has_token)
        dtype = x.dtype
        x = ops.cast(ops.reshape(x, (*shape, *x.shape[1:])), "float32")
        has_token = ops.reshape(has_token, (*shape, *[1] * (len(x.shape) - 2)))
        if self.pooling == "max":
            x = ops.max(ops.where(has_token, x, _LOWEST), axis=1)
        else:
            num_windows = ops.sum(ops.cast(has_token, "float32"), axis=1)
            x = ops.sum(ops.where(has_token, x, 0.0), axis=1)
            x = x / ops.maximum(num_windows, 1.0)
        return ops.cast(x, dtype)

    def compute_output_spec(self, x, input_mask):
        return keras.KerasTensor((input_mask.shape[0], *x.shape[1:]), x.dtype)

    def get_config(self):
        return super().get_config() | {"pooling": self.pooling}
