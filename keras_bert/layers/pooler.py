"""The pooler: a vector for a whole sequence (paper, section 3)."""

from typing import Any

import keras
from keras import ops

from keras_bert.errors import check_choice
from keras_bert.layers.dense import build_dense, build_layer_norm
from keras_bert.layers.reshaping import tokens_at
from keras_bert.layers.sequences import SequencePooling


@keras.saving.register_keras_serializable(package="keras_bert")
class PredictionHead(keras.layers.Layer):
    """A dense layer, an activation and a norm: [..., H] -> [..., H].

    In ModernBERT, this layer comes before every output layer for tokens. Before
    an output layer for texts, there is a `Pooler` instead.

    Example:
        >>> from keras_bert.layers.pooler import PredictionHead
        >>> PredictionHead()(np.ones([2, 5, 12])).shape
        TensorShape([2, 5, 12])
    """

    def __init__(
        self,
        activation: str = "gelu_erf",
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-5,
        biases: str = "",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.activation = activation
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps
        self.biases = biases

    def build(self, x_shape: Any) -> None:
        size, use_bias = x_shape[-1], "head" in self.biases.split()
        self.dense = build_dense(
            self, "dense", size, size, self.activation, use_bias
        )
        self.layer_norm = build_layer_norm(self, "layer_norm", size)

    def call(self, x: Any) -> Any:
        return self.layer_norm(self.dense(x))


@keras.saving.register_keras_serializable(package="keras_bert")
class Pooler(keras.layers.Layer):
    """A dense layer with tanh on the first token, [CLS]: [B, S, H] -> [B, H].

    Takes x [B, S, H] and `input_mask` [B, S]. With `left_to_right`, it reads
    the last token that is not padding, the only token that has attended to all
    tokens (Radford et al. 2018, GPT). With the pooling "mean", it reads the
    mean of all tokens. If `layer_norm_eps` is given, a norm with this epsilon
    follows the dense layer (ModernBERT).

    If rows contain several sequences, which `input_mask` numbers from 1, pass
    `cls_positions`, int [B, K], the positions of the sequences' first tokens,
    as the third input. The output is then [B, K, H].

    Example:
        >>> layer = keras_bert.layers.Pooler()
        >>> layer(np.ones([2, 5, 12]), np.ones([2, 5], "int32")).shape
        TensorShape([2, 12])
    """

    def __init__(
        self,
        left_to_right: bool = False,
        initializer_range: float = 0.02,
        activation: str = "tanh",
        pooling: str = "cls",
        layer_norm_eps: float | None = None,
        biases: str = "head norm",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_choice("pooling", pooling, ("cls", "mean"))
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range
        self.activation = activation
        self.pooling = pooling
        self.layer_norm_eps = layer_norm_eps
        self.biases = biases

    def build(
        self,
        x_shape: Any,
        input_mask_shape: Any,
        cls_positions_shape: Any = None,
    ) -> None:
        size, use_bias = x_shape[-1], "head" in self.biases.split()
        self.dense = build_dense(
            self, "dense", size, size, self.activation, use_bias
        )
        if self.pooling == "mean":
            self.mean_pooling = SequencePooling(
                "mean", dtype=self.dtype_policy, name="mean_pooling"
            )
        if self.layer_norm_eps:
            self.layer_norm = build_layer_norm(self, "layer_norm", size)

    def call(self, x: Any, input_mask: Any, cls_positions: Any = None) -> Any:
        pooled = self.dense(self._pool(x, input_mask, cls_positions))
        if self.layer_norm_eps:
            pooled = self.layer_norm(pooled)
        if cls_positions is not None:
            sequences = ops.shape(cls_positions)[1]
            pooled = ops.reshape(pooled, (-1, sequences, x.shape[-1]))
        return pooled

    def _pool(self, x: Any, input_mask: Any, cls_positions: Any) -> Any:
        """Returns the inputs of the dense layer, [B, H] or [B*K, H]."""
        is_packed = cls_positions is not None
        input_mask = ops.cast(input_mask, "int32")  # may be bool
        if self.pooling == "mean":
            vectors = self.mean_pooling(x, input_mask, cls_positions)
            vectors = ops.cast(vectors, self.compute_dtype)
            return ops.reshape(vectors, (-1, x.shape[-1]))
        if not is_packed and not self.left_to_right:
            return x[:, 0]
        if self.left_to_right:
            num_sequences = ops.shape(cls_positions)[1] if is_packed else 1
            cls_positions = _last_positions(input_mask, num_sequences)
        return tokens_at(cls_positions, x)

    def compute_output_spec(
        self, x: Any, input_mask: Any, cls_positions: Any = None
    ) -> Any:
        rows = x.shape[:1] if cls_positions is None else cls_positions.shape
        return keras.KerasTensor((*rows, x.shape[-1]), self.compute_dtype)


def _last_positions(input_mask: Any, num_sequences: Any) -> Any:
    """Returns the position of the last token of each sequence, int32 [B, K]."""
    numbers = ops.arange(1, num_sequences + 1, dtype="int32")[:, None]
    mask = ops.expand_dims(input_mask, 1)  # [B, 1, S]
    is_until = (mask > 0) & (mask <= numbers)  # [B, K, S]
    num_tokens = ops.sum(ops.cast(is_until, "int32"), axis=-1)
    return ops.maximum(num_tokens - 1, 0)
