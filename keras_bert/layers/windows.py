"""The outputs for the windows of texts -> one output for each text."""

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


@keras.saving.register_keras_serializable(package="keras_bert")
class WindowNumbers(keras.layers.Layer):
    """Numbers of windows [B, C] and windows [B, M, S] -> int32 [B, M].

    The windows of text 2 follow the windows of text 1, and so on up to C.
    The result is the number of the text of each window, and 0 after the last.

    Example:
        >>> from keras_bert.layers.windows import WindowNumbers
        >>> WindowNumbers()(np.array([[2, 1]]), np.ones([1, 4, 7])).numpy()
        array([[1, 1, 2, 0]], dtype=int32)
    """

    def call(self, num_windows, windows):
        ends = ops.cumsum(ops.cast(num_windows, "int32"), axis=1)
        places = ops.arange(ops.shape(windows)[1], dtype="int32")
        is_later = places >= ops.expand_dims(ends, 2)  # [B, C, M]
        numbers = 1 + ops.sum(ops.cast(is_later, "int32"), axis=1)
        return ops.where(places < ends[:, -1:], numbers, 0)

    def compute_output_spec(self, num_windows, windows):
        return keras.KerasTensor(windows.shape[:2], "int32")
