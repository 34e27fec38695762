"""The text of each of the windows of several texts."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class WindowNumbers(keras.layers.Layer):
    """Numbers of windows [B, C] and windows [B, M, S] -> int32 [B, M].

    The windows of text 1 are followed by those of text 2, and so on up to C.
    The result is the number of the text of each window, and 0 after the last.

    Example:
        >>> from keras_bert.layers.window_numbers import WindowNumbers
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
