"""One vector for each sequence of a row."""

import keras
from keras import ops

from keras_bert.layers.flat_tokens import tokens_at

POOLINGS = ("mean", "cls", "max")
# Below every component, and finite: 0 * infinity would be NaN.
_LOWEST = -1e9


@keras.saving.register_keras_serializable(package="keras_bert")
class SequencePooling(keras.layers.Layer):
    """Pools the tokens of each sequence: [B, S, H] -> float32 [B, K, H].

    Takes x [B, S, H]; `input_mask` [B, S], which numbers the K sequences of a
    row from 1 and is 0 at padding; and `cls_positions` [B, K], their first
    tokens. Without these, a row is one sequence, and the result is [B, H]. The
    pooling is mean, cls (the first token) or max (by component). The vector of
    a sequence without a token is finite, and otherwise undefined.

    Example:
        >>> from keras_bert.layers.sequence_pooling import SequencePooling
        >>> layer = SequencePooling("mean")
        >>> mask = np.array([[1, 1, 2, 2, 0]])
        >>> layer(np.ones([1, 5, 12]), mask, np.array([[0, 2]])).shape
        TensorShape([1, 2, 12])
    """

    def __init__(self, pooling: str = "mean", **kwargs):
        super().__init__(**kwargs)
        self.pooling = pooling

    def call(self, x, input_mask, cls_positions=None):
        if cls_positions is None:
            first = ops.zeros_like(input_mask[:, :1])
            return self.call(x, input_mask > 0, first)[:, 0]
        num_sequences = ops.shape(cls_positions)[1]
        if self.pooling == "cls":
            vectors = ops.reshape(
                tokens_at(cls_positions, x), (-1, num_sequences, x.shape[-1])
            )
            return ops.cast(vectors, "float32")
        numbers = ops.arange(1, num_sequences + 1, dtype="int32")
        mask = ops.cast(input_mask, "int32")
        # LiteRT has no index with a new axis.
        is_own = ops.expand_dims(mask, 1) == numbers[:, None]  # [B, K, S]
        x = ops.cast(x, "float32")
        if self.pooling == "max":
            is_own, x = ops.expand_dims(is_own, 3), ops.expand_dims(x, 1)
            own = ops.where(is_own, x, _LOWEST)
            return ops.max(own, axis=2)  # [B, K, S, H] -> [B, K, H]
        weights = ops.cast(is_own, "float32")
        num_tokens = ops.sum(weights, axis=2, keepdims=True)
        return ops.matmul(weights, x) / ops.maximum(num_tokens, 1.0)

    def compute_output_spec(self, x, input_mask, cls_positions=None):
        sequences = () if cls_positions is None else cls_positions.shape[1:]
        return keras.KerasTensor(
            (x.shape[0], *sequences, x.shape[-1]), "float32"
        )

    def get_config(self):
        return super().get_config() | {"pooling": self.pooling}
