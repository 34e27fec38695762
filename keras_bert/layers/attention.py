"""Self-attention: every token attends to all tokens or to earlier ones."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.dense import build_dense
from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="keras_bert")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention on flat tokens.

    Takes x [T, H] and `input_mask` [B, S] with T = B * S; a 1 in the mask
    allows attention to a token. Returns [T, H]. With `left_to_right`, a token
    attends to itself and earlier tokens only. Called with `packed`, a row
    holds several sequences, which `input_mask` numbers from 1, and a token
    attends to its own sequence only.

    Example:
        >>> layer = keras_bert.layers.SelfAttention(num_heads=3)
        >>> layer(np.ones([10, 12]), np.ones([2, 5], "int32")).shape
        TensorShape([10, 12])
    """

    def __init__(
        self,
        num_heads: int,
        dropout_rate: float = 0.1,
        left_to_right: bool = False,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range
        self.dropout = Dropout(
            dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, x_shape: Any, input_mask_shape: Any) -> None:
        hidden_size = x_shape[-1]
        if hidden_size % self.num_heads:
            raise ValueError(
                f"The input is {hidden_size} wide, which is not a multiple "
                f"of num_heads={self.num_heads}."
            )
        self.head_size = hidden_size // self.num_heads
        self.query = build_dense(self, "query", hidden_size, hidden_size)
        self.key = build_dense(self, "key", hidden_size, hidden_size)
        self.value = build_dense(self, "value", hidden_size, hidden_size)
        self.output_dense = build_dense(
            self, "output", hidden_size, hidden_size
        )

    def call(self, x: Any, input_mask: Any, packed: bool = False) -> Any:
        probs = self.probabilities(x, input_mask, packed)
        probs = self.dropout(ops.cast(probs, self.compute_dtype))
        value = self._split_heads(self.value(x), ops.shape(input_mask)[1])
        context = ops.matmul(probs, value)  # [B, N, S, D]
        context = ops.transpose(context, (0, 2, 1, 3))  # [B, S, N, D]
        return self.output_dense(ops.reshape(context, (-1, x.shape[-1])))

    def probabilities(
        self, x: Any, input_mask: Any, packed: bool = False
    ) -> Any:
        """Returns how each token S attends to the tokens T, [B, N, S, T]."""
        seq_length = ops.shape(input_mask)[1]
        # Scaling the query is cheaper than scaling the scores.
        query = self.query(x) * self.head_size**-0.5
        query = self._split_heads(query, seq_length)  # [B, N, S, D]
        key = self._split_heads(self.key(x), seq_length)  # [B, N, T, D]
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        # Always in float32: softmax sums many small numbers.
        scores = ops.cast(scores, "float32")  # [B, N, S, T]
        scores += self._mask_adder(input_mask, seq_length, packed)
        return ops.softmax(scores)

    def _split_heads(self, x: Any, seq_length: Any) -> Any:
        x = ops.reshape(x, (-1, seq_length, self.num_heads, self.head_size))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, S, D]

    def _mask_adder(
        self, input_mask: Any, seq_length: Any, packed: bool
    ) -> Any:
        """Returns 0 where attention is allowed and -10000 elsewhere.

        It is added, as in google-research/bert, so that a row without any
        token gives the same numbers as there.
        """
        # LiteRT has no index with new axes.
        columns = ops.expand_dims(input_mask, (1, 2))  # [B, 1, 1, T]
        if packed:
            # Padding is one more sequence, with the number 0.
            rows = ops.expand_dims(input_mask, (1, 3))  # [B, 1, S, 1]
            allowed = ops.cast(rows == columns, "float32")  # [B, 1, S, T]
        else:
            allowed = ops.cast(columns, "float32")
        if self.left_to_right:
            positions = ops.arange(seq_length)
            before = positions[None, :] <= positions[:, None]  # [S, T]
            allowed *= ops.cast(before, "float32")  # [B, 1, S, T]
        return (1.0 - allowed) * -10000.0

    def compute_output_spec(
        self, x: Any, input_mask: Any, packed: bool = False
    ) -> Any:
        return keras.KerasTensor(x.shape, self.compute_dtype)


class AttentionProbabilities(keras.layers.Layer):
    """The probabilities of a layer of self-attention: float32 [B, N, S, T]."""

    def __init__(self, attention: SelfAttention, **kwargs: Any):
        super().__init__(**kwargs)
        self.attention = attention

    def call(self, x: Any, input_mask: Any, packed: bool = False) -> Any:
        return self.attention.probabilities(x, input_mask, packed)

    def compute_output_spec(
        self, x: Any, input_mask: Any, packed: bool = False
    ) -> Any:
        batch, length = input_mask.shape
        shape = (batch, self.attention.num_heads, length, length)
        return keras.KerasTensor(shape, "float32")
