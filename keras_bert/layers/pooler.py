"""The pooler: a vector for a whole sequence (paper, section 3)."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.dense import build_dense
from keras_bert.layers.reshaping import tokens_at


@keras.saving.register_keras_serializable(package="keras_bert")
class Pooler(keras.layers.Layer):
    """A dense layer with tanh on the first token, [CLS]: [B, S, H] -> [B, H].

    Takes x [B, S, H] and `input_mask` [B, S]. With `left_to_right`, it reads
    the last token of the mask: the only one that has attended to all tokens
    (Radford et al. 2018, GPT).

    If rows hold several sequences, which `input_mask` numbers from 1, pass
    their `cls_positions`, int [B, K], as the third input. The output is then
    [B, K, H].

    Example:
        >>> layer = keras_bert.layers.Pooler()
        >>> layer(np.ones([2, 5, 12]), np.ones([2, 5], "int32")).shape
        TensorShape([2, 12])
    """

    def __init__(
        self,
        left_to_right: bool = False,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range

    def build(
        self,
        x_shape: Any,
        input_mask_shape: Any,
        cls_positions_shape: Any = None,
    ) -> None:
        self.dense = build_dense(
            self, "dense", x_shape[-1], x_shape[-1], "tanh"
        )

    def call(self, x: Any, input_mask: Any, cls_positions: Any = None) -> Any:
        is_packed = cls_positions is not None
        if not is_packed and not self.left_to_right:
            return self.dense(x[:, 0])  # [B, H]
        num_sequences = ops.shape(cls_positions)[1] if is_packed else 1
        if self.left_to_right:
            cls_positions = _last_positions(input_mask, num_sequences)
        pooled = self.dense(tokens_at(cls_positions, x))  # [B*K, H]
        if is_packed:
            pooled = ops.reshape(pooled, (-1, num_sequences, x.shape[-1]))
        return pooled

    def compute_output_spec(
        self, x: Any, input_mask: Any, cls_positions: Any = None
    ) -> Any:
        rows = x.shape[:1] if cls_positions is None else cls_positions.shape
        return keras.KerasTensor((*rows, x.shape[-1]), self.compute_dtype)


def _last_positions(input_mask: Any, num_sequences: Any) -> Any:
    """Returns the last positions of the sequences 1 to K: int32 [B, K]."""
    numbers = ops.arange(1, num_sequences + 1, dtype="int32")[:, None]
    mask = ops.expand_dims(input_mask, 1)  # [B, 1, S]
    is_until = (mask > 0) & (mask <= numbers)  # [B, K, S]
    num_tokens = ops.sum(ops.cast(is_until, "int32"), axis=-1)
    return ops.maximum(num_tokens - 1, 0)
