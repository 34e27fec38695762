"""Where the sequences of a row begin, and the positions of their tokens."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class RowPositions(keras.layers.Layer):
    """`input_mask` [B, S] -> `position_ids` [B, S], `cls_positions` [B, K].

    A row holds up to K sequences, one after the other, and padding. The mask
    numbers them from 1 and is 0 at padding. `position_ids`, int32, count from 0
    in each sequence and are 0 at padding. `cls_positions`, int32, are the first
    tokens; those of absent sequences are within the row.

    Example:
        >>> from keras_bert.layers.row_positions import RowPositions
        >>> positions, begins = RowPositions()(np.array([[1, 1, 1, 2, 2, 0]]))
        >>> positions.numpy(), begins.numpy()
        (array([[0, 1, 2, 0, 1, 0]], dtype=int32), array([[0, 3]], dtype=int32))
    """

    def call(self, input_mask):
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
        return (
            ops.where(mask > 0, positions, 0),
            ops.minimum(begins, seq_length - 1),
        )

    def compute_output_spec(self, input_mask):
        return (
            keras.KerasTensor(input_mask.shape, "int32"),
            keras.KerasTensor((input_mask.shape[0], None), "int32"),
        )
