"""Sequences that share a row, windows that share a text, and their poolings."""

from typing import Any

import keras
from keras import ops

from keras_bert.errors import check_choice
from keras_bert.layers.reshaping import tokens_at

POOLINGS = ("mean", "cls", "max")
WINDOW_POOLINGS = ("mean", "max")
# Below every component and logit, but finite: 0 * infinity and its gradient
# would be NaN.
_LOWEST = -1e9


@keras.saving.register_keras_serializable(package="keras_bert")
class RowPositions(keras.layers.Layer):
    """`input_mask` [B, S] -> `position_ids` [B, S], `cls_positions` [B, K].

    A row contains up to K sequences, one after the other, and padding. The mask
    numbers the sequences from 1 and is 0 at padding. `position_ids`, int32,
    count from 0 in each sequence and are 0 at padding. `cls_positions`, int32,
    are the positions of the sequences' first tokens. If a row has fewer than K
    sequences, the rest of its `cls_positions` are arbitrary positions in the
    row.

    Example:
        >>> from keras_bert.layers.sequences import RowPositions
        >>> positions, begins = RowPositions()(np.array([[1, 1, 1, 2, 2, 0]]))
        >>> positions.numpy(), begins.numpy()
        (array([[0, 1, 2, 0, 1, 0]], dtype=int32), array([[0, 3]], dtype=int32))
    """

    def call(self, input_mask: Any) -> Any:
        mask = ops.cast(input_mask, "int32")
        num_sequences = ops.maximum(ops.max(mask), 1)
        numbers = ops.arange(1, num_sequences + 1, dtype="int32")
        is_own = ops.expand_dims(mask, 1) == numbers[:, None]
        is_own = ops.cast(is_own, "int32")  # [B, K, S]
        lengths = ops.sum(is_own, axis=2)
        begins = ops.cumsum(lengths, axis=1) - lengths  # [B, K]
        own_begins = ops.sum(is_own * ops.expand_dims(begins, 2), axis=1)
        seq_length = ops.shape(mask)[1]
        positions = ops.arange(seq_length, dtype="int32") - own_begins
        positions = ops.where(mask > 0, positions, 0)
        return positions, ops.minimum(begins, seq_length - 1)

    def compute_output_spec(self, input_mask: Any) -> Any:
        return (
            keras.KerasTensor(input_mask.shape, "int32"),
            keras.KerasTensor((input_mask.shape[0], None), "int32"),
        )


@keras.saving.register_keras_serializable(package="keras_bert")
class SequencePooling(keras.layers.Layer):
    """Pools the tokens of each sequence: [B, S, H] -> float32 [B, K, H].

    Takes x [B, S, H]; `input_mask` [B, S], which numbers the K sequences of a
    row from 1 and is 0 at padding; and `cls_positions` [B, K], the positions of
    the sequences' first tokens. Without `cls_positions`, a row is one sequence,
    and the result is [B, H]. The pooling is "mean", "cls" (the first token) or
    "max" (by component). The vector of a sequence without a token is arbitrary
    but finite.

    Example:
        >>> from keras_bert.layers.sequences import SequencePooling
        >>> layer = SequencePooling("mean")
        >>> mask = np.array([[1, 1, 2, 2, 0]])
        >>> layer(np.ones([1, 5, 12]), mask, np.array([[0, 2]])).shape
        TensorShape([1, 2, 12])
    """

    def __init__(self, pooling: str = "mean", **kwargs: Any):
        super().__init__(**kwargs)
        check_choice("pooling", pooling, POOLINGS)
        self.pooling = pooling

    def call(self, x: Any, input_mask: Any, cls_positions: Any = None) -> Any:
        mask = ops.cast(input_mask, "int32")
        if cls_positions is None:
            mask = ops.cast(mask > 0, "int32")
            return self.call(x, mask, ops.zeros_like(mask[:, :1]))[:, 0]
        num_sequences = ops.shape(cls_positions)[1]
        if self.pooling == "cls":
            vectors = tokens_at(cls_positions, x)
            vectors = ops.reshape(vectors, (-1, num_sequences, x.shape[-1]))
            return ops.cast(vectors, "float32")
        x = ops.cast(x, "float32")
        if self.pooling == "max" and cls_positions.shape[1] == 1:
            own = ops.where(ops.expand_dims(mask == 1, 2), x, _LOWEST)
            return ops.max(own, axis=1, keepdims=True)
        if self.pooling == "max":
            # [B, K, S, H] would be large, so the sequences of all rows are
            # numbered together; the padding of each row gets a number too.
            rows = ops.arange(ops.shape(mask)[0], dtype="int32")
            numbers = mask + ops.expand_dims(rows, 1) * (num_sequences + 1)
            own = ops.segment_max(
                ops.reshape(x, (-1, x.shape[-1])),
                ops.reshape(numbers, (-1,)),
                ops.shape(mask)[0] * (num_sequences + 1),
            )
            own = ops.reshape(own, (-1, num_sequences + 1, x.shape[-1]))
            return ops.maximum(own[:, 1:], _LOWEST)
        numbers = ops.arange(1, num_sequences + 1, dtype="int32")
        # LiteRT does not support an index with a new axis.
        is_own = ops.expand_dims(mask, 1) == numbers[:, None]  # [B, K, S]
        weights = ops.cast(is_own, "float32")
        num_tokens = ops.sum(weights, axis=2, keepdims=True)
        return ops.matmul(weights, x) / ops.maximum(num_tokens, 1.0)

    def compute_output_spec(
        self, x: Any, input_mask: Any, cls_positions: Any = None
    ) -> Any:
        sequences = () if cls_positions is None else cls_positions.shape[1:]
        shape = (x.shape[0], *sequences, x.shape[-1])
        return keras.KerasTensor(shape, "float32")


@keras.saving.register_keras_serializable(package="keras_bert")
class WindowPooling(keras.layers.Layer):
    """Pools windows: [B*W, ...] and the input mask [B, W, S] -> [B, ...].

    The result is the mean or the maximum over the windows that have a token,
    element by element, in float32.
    """

    def __init__(self, pooling: str, **kwargs: Any):
        super().__init__(**kwargs)
        check_choice("pooling", pooling, WINDOW_POOLINGS)
        self.pooling = pooling

    def call(self, x: Any, input_mask: Any) -> Any:
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

    def compute_output_spec(self, x: Any, input_mask: Any) -> Any:
        return keras.KerasTensor((input_mask.shape[0], *x.shape[1:]), x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class WindowNumbers(keras.layers.Layer):
    """Returns the 1-based index of each window's text, int32 [B, M].

    Takes the number of windows of each text, [B, C], and the windows,
    [B, M, S]. The windows of text 2 follow the windows of text 1, and so on up
    to text C. After the last window, the result is 0.

    Example:
        >>> from keras_bert.layers.sequences import WindowNumbers
        >>> WindowNumbers()(np.array([[2, 1]]), np.ones([1, 4, 7])).numpy()
        array([[1, 1, 2, 0]], dtype=int32)
    """

    def call(self, num_windows: Any, windows: Any) -> Any:
        ends = ops.cumsum(ops.cast(num_windows, "int32"), axis=1)
        places = ops.arange(ops.shape(windows)[1], dtype="int32")
        is_later = places >= ops.expand_dims(ends, 2)  # [B, C, M]
        numbers = 1 + ops.sum(ops.cast(is_later, "int32"), axis=1)
        return ops.where(places < ends[:, -1:], numbers, 0)

    def compute_output_spec(self, num_windows: Any, windows: Any) -> Any:
        return keras.KerasTensor(windows.shape[:2], "int32")
