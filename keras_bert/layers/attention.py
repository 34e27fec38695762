"""Self-attention: each token attends to all, earlier or nearby tokens."""

from typing import Any

import keras
from keras import ops

from keras_bert.errors import check_choice
from keras_bert.layers.dense import build_dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.local_attention import attend_locally, mask_adder
from keras_bert.layers.positions import rotate

# "absolute" positions are in the embeddings.
_POSITIONS = None, "absolute", "rotary", "relative"


@keras.saving.register_keras_serializable(package="keras_bert")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention on flat tokens.

    Takes x [T, H] and `input_mask` [B, S] with T = B * S; tokens attend only to
    tokens with a 1 in the mask. Returns [T, H]. With `left_to_right`, a token
    attends to itself and earlier tokens only. If the layer is called with
    `packed`, a row contains several sequences, which `input_mask` numbers from
    1, and a token attends to its own sequence only.

    If `positions` is "rotary" or "relative", the third input is the output of
    the layer `RotaryPositions` or `RelativePositions`. `local_attention` is the
    width of a window, in tokens: a token attends to `local_attention // 2`
    tokens on each side.

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
        use_bias: bool = True,
        positions: str | None = None,
        local_attention: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_choice("positions", positions, _POSITIONS)
        self.num_heads = num_heads
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range
        self.use_bias = use_bias
        self.positions = positions
        self.local_attention = local_attention
        self.dropout = Dropout(
            dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def build(
        self, x_shape: Any, input_mask_shape: Any, positions_shape: Any = None
    ) -> None:
        size = x_shape[-1]
        if len(x_shape) != 2:
            raise ValueError(
                f"The input has the shape {tuple(x_shape)}, but must be flat "
                "tokens [T, H]; write keras.ops.reshape(x, (-1, x.shape[-1]))."
            )
        if size % self.num_heads:
            raise ValueError(
                f"The input is {size} wide, which is not a multiple "
                f"of num_heads={self.num_heads}."
            )
        self.head_size = size // self.num_heads
        self.query, self.key, self.value, self.output_dense = (
            build_dense(self, name, size, size, use_bias=self.use_bias)
            for name in ("query", "key", "value", "output")
        )

    def call(
        self,
        x: Any,
        input_mask: Any,
        positions: Any = None,
        packed: bool = False,
    ) -> Any:
        length = input_mask.shape[1]
        value = self._split_heads(self.value(x), ops.shape(input_mask)[1])
        # Blocks are faster if a block, which reads 3 * reach tokens, reads less
        # than half of the row.
        if self._reach and (length is None or length > 6 * self._reach):
            query, key = self._query_and_key(x, input_mask, positions)
            context = attend_locally(
                query,
                key,
                value,
                input_mask,
                reach=self._reach,
                packed=packed,
                left_to_right=self.left_to_right,
                dropout=self.dropout,
            )
        else:
            probs = self.probabilities(x, input_mask, positions, packed)
            probs = self.dropout(ops.cast(probs, self.compute_dtype))
            context = ops.matmul(probs, value)  # [B, N, S, D]
        context = ops.transpose(context, (0, 2, 1, 3))  # [B, S, N, D]
        return self.output_dense(ops.reshape(context, (-1, x.shape[-1])))

    def probabilities(self, *inputs: Any) -> Any:
        """Returns how much each token S attends to each token T, [B, N, S, T].

        Takes the arguments of `scores`.
        """
        scores, adder = self.scores(*inputs)
        return ops.softmax(scores + ops.expand_dims(adder, 1))

    def scores(
        self,
        x: Any,
        input_mask: Any,
        positions: Any = None,
        packed: bool = False,
    ) -> tuple[Any, Any]:
        """Returns the scores [B, N, S, T], and a mask to add to them.

        The mask, [B, S, T] or [B, 1, T], is 0 where a token S may attend to a
        token T, and -10000 elsewhere. Both are float32.
        """
        query, key = self._query_and_key(x, input_mask, positions)
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        # Always in float32: softmax sums many small numbers.
        scores = ops.cast(scores, "float32")  # [B, N, S, T]
        if self.positions == "relative":
            scores += ops.cast(positions, "float32")
        places = ops.arange(ops.shape(input_mask)[1])
        return scores, mask_adder(
            input_mask,
            input_mask,
            places,
            places,
            packed=packed,
            left_to_right=self.left_to_right,
            reach=self._reach,
        )

    @property
    def _reach(self) -> int | None:
        return self.local_attention and self.local_attention // 2

    def _query_and_key(
        self, x: Any, input_mask: Any, positions: Any
    ) -> tuple[Any, Any]:
        """Returns scaled queries [B, N, S, D] and keys [B, N, T, D]."""
        seq_length = ops.shape(input_mask)[1]
        # Scaling the query is cheaper than scaling the scores.
        query = self.query(x) * self.head_size**-0.5
        query = self._split_heads(query, seq_length)
        key = self._split_heads(self.key(x), seq_length)
        if self.positions == "rotary":
            return rotate(query, positions), rotate(key, positions)
        return query, key

    def _split_heads(self, x: Any, seq_length: Any) -> Any:
        x = ops.reshape(x, (-1, seq_length, self.num_heads, self.head_size))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, S, D]

    def compute_output_spec(self, x: Any, *others: Any, **options: Any) -> Any:
        return keras.KerasTensor(x.shape, self.compute_dtype)
