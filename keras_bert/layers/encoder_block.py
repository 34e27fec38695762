"""One layer of the Transformer encoder."""

from typing import Any

import keras

from keras_bert.layers.activations import get_activation
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.dense import build_dense, build_layer_norm
from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="keras_bert")
class EncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each with a residual and a norm.

    Takes x [T, H] and `input_mask` [B, S] with T = B * S; returns [T, H].
    `activation` is a name in `bert_config.json`. For `left_to_right` and
    `packed` see `SelfAttention`.

    Example:
        >>> layer = keras_bert.layers.EncoderBlock(
        ...     num_heads=3, intermediate_size=20
        ... )
        >>> layer(np.ones([10, 12]), np.ones([2, 5], "int32")).shape
        TensorShape([10, 12])
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_size: int,
        activation: str = "gelu",
        dropout_rate: float = 0.1,
        attention_dropout_rate: float = 0.1,
        left_to_right: bool = False,
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.intermediate_size = intermediate_size
        self.activation = activation
        self.dropout_rate = dropout_rate
        self.attention_dropout_rate = attention_dropout_rate
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps

    def build(self, x_shape: Any, input_mask_shape: Any) -> None:
        hidden_size = x_shape[-1]
        self.attention = SelfAttention(
            num_heads=self.num_heads,
            dropout_rate=self.attention_dropout_rate,
            left_to_right=self.left_to_right,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            trainable=self.trainable,
            name="attention",
        )
        self.attention.build(x_shape, input_mask_shape)
        self.attention_dropout = self._dropout("attention_dropout")
        self.attention_layer_norm = build_layer_norm(
            self, "attention_layer_norm", hidden_size
        )
        self.intermediate = build_dense(
            self,
            "intermediate",
            hidden_size,
            self.intermediate_size,
            get_activation(self.activation),
        )
        self.output_dense = build_dense(
            self, "output", self.intermediate_size, hidden_size
        )
        self.output_dropout = self._dropout("output_dropout")
        self.output_layer_norm = build_layer_norm(
            self, "output_layer_norm", hidden_size
        )

    def call(self, x: Any, input_mask: Any, packed: bool = False) -> Any:
        attended = self.attention(x, input_mask, packed=packed)
        attended = self.attention_dropout(attended)
        x = self.attention_layer_norm(x + attended)  # [T, H]
        hidden = self.output_dense(self.intermediate(x))  # [T, F] -> [T, H]
        return self.output_layer_norm(x + self.output_dropout(hidden))

    def compute_output_spec(
        self, x: Any, input_mask: Any, packed: bool = False
    ) -> Any:
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def _dropout(self, name: str) -> Dropout:
        return Dropout(self.dropout_rate, dtype=self.dtype_policy, name=name)
