"""One layer of the Transformer encoder."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.errors import check_choice
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.dense import build_dense, build_layer_norm
from keras_bert.layers.dropout import Dropout

# The parts of a network that may have biases. A block has no head, and ignores
# this part.
_BIASES = ("attention", "intermediate", "output", "norm", "head")


@keras.saving.register_keras_serializable(package="keras_bert")
class EncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each with a residual and a norm.

    Takes x [T, H] and `input_mask` [B, S] with T = B * S; returns [T, H].
    `activation` is a name that `bert_config.json` may contain, such as "gelu".
    For `left_to_right`, `packed` and the third input, positions, see
    `SelfAttention`.

    With `gated`, the activation of the feed-forward is multiplied by the output
    of a second dense layer (arXiv 2002.05202). `norms` says where the norms
    are: "after" (after each part and its residual), "before" (before each part)
    or "before_output" (only before the feed-forward). `biases` lists the parts
    that have biases, separated by spaces.

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
        gated: bool = False,
        norms: str = "after",
        biases: str = "attention intermediate output norm",
        attention_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_choice("norms", norms, ("after", "before", "before_output"))
        for part in biases.split():
            check_choice("A part of biases", part, _BIASES)
        self.num_heads = num_heads
        self.intermediate_size = intermediate_size
        self.activation = activation
        self.dropout_rate = dropout_rate
        self.attention_dropout_rate = attention_dropout_rate
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps
        self.gated = gated
        self.norms = norms
        self.biases = biases
        self.attention_options = attention_options

    def build(
        self, x_shape: Any, input_mask_shape: Any, positions_shape: Any = None
    ) -> None:
        size, inner_size = x_shape[-1], self.intermediate_size
        biases = self.biases.split()
        self.attention = SelfAttention(
            num_heads=self.num_heads,
            dropout_rate=self.attention_dropout_rate,
            left_to_right=self.left_to_right,
            initializer_range=self.initializer_range,
            use_bias="attention" in biases,
            dtype=self.dtype_policy,
            trainable=self.trainable,
            name="attention",
            **(self.attention_options or {}),
        )
        self.attention.build(x_shape, input_mask_shape)
        self.attention_dropout = self._dropout("attention_dropout")
        if self.norms != "before_output":
            self.attention_layer_norm = build_layer_norm(
                self, "attention_layer_norm", size
            )
        use_bias = "intermediate" in biases
        self.intermediate = build_dense(
            self, "intermediate", size, inner_size, self.activation, use_bias
        )
        if self.gated:
            self.gate = build_dense(
                self, "gate", size, inner_size, use_bias=use_bias
            )
        self.output_dense = build_dense(
            self, "output", inner_size, size, use_bias="output" in biases
        )
        self.output_dropout = self._dropout("output_dropout")
        self.output_layer_norm = build_layer_norm(
            self, "output_layer_norm", size
        )

    def call(
        self,
        x: Any,
        input_mask: Any,
        positions: Any = None,
        packed: bool = False,
    ) -> Any:
        is_after = self.norms == "after"
        attended = self.attention(
            self.attention_input(x), input_mask, positions, packed=packed
        )
        x = x + self.attention_dropout(attended)  # [T, H]
        if is_after:
            x = self.attention_layer_norm(x)
        source = x if is_after else self.output_layer_norm(x)
        hidden = self.intermediate(source)  # [T, F]
        if self.gated:
            hidden = hidden * self.gate(source)
        x = x + self.output_dropout(self.output_dense(hidden))  # [T, H]
        return self.output_layer_norm(x) if is_after else x

    def attention_input(self, x: Any) -> Any:
        """Returns what the attention reads if the block's input is x [T, H]."""
        return self.attention_layer_norm(x) if self.norms == "before" else x

    def compute_output_spec(self, x: Any, *others: Any, **options: Any) -> Any:
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def _dropout(self, name: str) -> Dropout:
        return Dropout(self.dropout_rate, dtype=self.dtype_policy, name=name)
