"""Every token looks at every other one, or only at those before it."""

import keras
from keras import ops

from keras_bert.layers.dense import build_dense
from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="keras_bert")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention on flat tokens.

    Called on x [T, H] and `input_mask` [B, S], where 1 marks a token that may
    be attended to and T = B * S. Returns [T, H]. With `left_to_right`, a
    token attends to itself and to what stands before it. With `packed`, a row
    holds several sequences, `input_mask` numbers them from 1, and a token
    attends to its own sequence only.
    """

    def __init__(
        self,
        num_heads: int,
        dropout_rate: float = 0.1,
        left_to_right: bool = False,
        packed: bool = False,
        initializer_range: float = 0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dropout_rate = dropout_rate
        self.left_to_right = left_to_right
        self.packed = packed
        self.initializer_range = initializer_range
        self.dropout = Dropout(
            dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, x_shape, input_mask_shape):
        hidden_size = x_shape[-1]
        if hidden_size % self.num_heads:
            raise ValueError(
                f"The input is {hidden_size} wide, which is not a multiple "
                f"of num_heads={self.num_heads}."
            )
        self.head_size = hidden_size // self.num_heads
        self.query = self._build_dense("query", hidden_size)
        self.key = self._build_dense("key", hidden_size)
        self.value = self._build_dense("value", hidden_size)
        self.output_dense = self._build_dense("output", hidden_size)

    def _build_dense(self, name, hidden_size):
        return build_dense(
            name,
            hidden_size,
            hidden_size,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
        )

    def call(self, x, input_mask):
        seq_length = ops.shape(input_mask)[1]
        # Scaling the query is cheaper than scaling the scores.
        query = self.query(x) * self.head_size**-0.5
        query = self._split_heads(query, seq_length)  # [B, N, S, D]
        key = self._split_heads(self.key(x), seq_length)  # [B, N, T, D]
        value = self._split_heads(self.value(x), seq_length)  # [B, N, T, D]

        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        # In float32 whatever the precision: softmax sums many small numbers.
        scores = ops.cast(scores, "float32")  # [B, N, S, T]
        scores += self._mask_adder(input_mask, seq_length)
        probs = ops.cast(ops.softmax(scores), self.compute_dtype)

        context = ops.matmul(self.dropout(probs), value)  # [B, N, S, D]
        context = ops.transpose(context, (0, 2, 1, 3))  # [B, S, N, D]
        return self.output_dense(ops.reshape(context, (-1, x.shape[-1])))

    def _split_heads(self, x, seq_length):
        x = ops.reshape(x, (-1, seq_length, self.num_heads, self.head_size))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, S, D]

    def _mask_adder(self, input_mask, seq_length):
        """0 where a token may be attended to, -10000 elsewhere.

        An adder, as in google-research/bert, and not a choice: a row that may
        attend to nothing then gives the same numbers as there.
        """
        if self.packed:
            # Padding is one more sequence, of number 0.
            allowed = input_mask[:, :, None] == input_mask[:, None, :]
            allowed = ops.cast(allowed, "float32")[:, None]  # [B, 1, S, T]
        else:
            allowed = ops.cast(input_mask, "float32")[:, None, None, :]
        if self.left_to_right:
            positions = ops.arange(seq_length)
            before = positions[None, :] <= positions[:, None]  # [S, T]
            allowed *= ops.cast(before, "float32")  # [B, 1, S, T]
        return (1.0 - allowed) * -10000.0

    def compute_output_spec(self, x, input_mask):
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def get_config(self):
        return super().get_config() | {
            "num_heads": self.num_heads,
            "dropout_rate": self.dropout_rate,
            "left_to_right": self.left_to_right,
            "packed": self.packed,
            "initializer_range": self.initializer_range,
        }
