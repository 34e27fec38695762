"""What stands on the encoder: the pooler and the two pre-training heads."""

import keras
from keras import ops

from keras_bert.layers.activations import get_activation
from keras_bert.layers.dense import build_dense


@keras.saving.register_keras_serializable(package="keras_bert")
class Pooler(keras.layers.Layer):
    """[B, S, H] -> [B, H]: dense and tanh on the first token, [CLS].

    With `left_to_right`, on the last token of `input_mask` [B, S]: [CLS] has
    seen nothing there, and the last one all (Radford et al. 2018, GPT).

    Called with `cls_positions`, int [B, K], where a row holds several
    sequences, which `input_mask` numbers from 1: [B, K, H].
    """

    def __init__(
        self,
        left_to_right: bool = False,
        initializer_range: float = 0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.left_to_right = left_to_right
        self.initializer_range = initializer_range

    def build(self, x_shape, input_mask_shape, cls_positions_shape=None):
        self.dense = build_dense(
            "dense",
            x_shape[-1],
            x_shape[-1],
            activation="tanh",
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
        )

    def call(self, x, input_mask, cls_positions=None):
        is_packed = cls_positions is not None
        num_sequences = ops.shape(cls_positions)[1] if is_packed else 1
        if self.left_to_right:
            positions = _last_positions(input_mask, num_sequences)
            pooled = self.dense(_tokens_at(positions, x))  # [B*K, H]
        elif is_packed:
            pooled = self.dense(_tokens_at(cls_positions, x))
        else:
            pooled = self.dense(x[:, 0])  # [B, H]
        if not is_packed:
            return pooled
        return ops.reshape(pooled, (-1, num_sequences, x.shape[-1]))

    def compute_output_spec(self, x, input_mask, cls_positions=None):
        rows = x.shape[:1] if cls_positions is None else cls_positions.shape
        return keras.KerasTensor((*rows, x.shape[-1]), self.compute_dtype)

    def get_config(self):
        return super().get_config() | {
            "left_to_right": self.left_to_right,
            "initializer_range": self.initializer_range,
        }


@keras.saving.register_keras_serializable(package="keras_bert")
class MaskedLMHead(keras.layers.Layer):
    """Logits of the whole vocabulary at the masked positions only.

    Called on x [B, S, H], `masked_lm_positions` int [B, P] and the word
    embeddings [V, H], to which its output is tied; returns float32
    [B, P, V]. Only the transform and the output bias are its own weights.
    """

    def __init__(
        self,
        activation: str = "gelu",
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.activation = activation
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps

    def build(self, x_shape, positions_shape, word_embeddings_shape):
        hidden_size = x_shape[-1]
        self.transform = build_dense(
            "transform",
            hidden_size,
            hidden_size,
            activation=get_activation(self.activation),
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
        )
        self.layer_norm = keras.layers.LayerNormalization(
            epsilon=self.layer_norm_eps,
            dtype=self.dtype_policy,
            name="layer_norm",
        )
        self.layer_norm.build((None, hidden_size))
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=(word_embeddings_shape[0],),
            initializer="zeros",
        )

    def call(self, x, positions, word_embeddings):
        num_positions = ops.shape(positions)[1]
        tokens = _tokens_at(positions, x)  # [B*P, H]
        tokens = self.layer_norm(self.transform(tokens))
        logits = ops.matmul(tokens, ops.transpose(word_embeddings))
        logits = ops.cast(logits + self.output_bias, "float32")  # [B*P, V]
        return ops.reshape(logits, (-1, num_positions, logits.shape[-1]))

    def compute_output_spec(self, x, positions, word_embeddings):
        return keras.KerasTensor(
            (*positions.shape, word_embeddings.shape[0]), "float32"
        )

    def get_config(self):
        return super().get_config() | {
            "activation": self.activation,
            "initializer_range": self.initializer_range,
            "layer_norm_eps": self.layer_norm_eps,
        }


@keras.saving.register_keras_serializable(package="keras_bert")
class NextSentenceHead(keras.layers.Layer):
    """[..., H] -> float32 logits [..., 2]; 0 = is next, 1 = random."""

    def __init__(self, initializer_range: float = 0.02, **kwargs):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, x_shape):
        self.dense = build_dense(
            "dense",
            x_shape[-1],
            2,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
        )

    def call(self, x):
        return ops.cast(self.dense(x), "float32")

    def compute_output_spec(self, x):
        return keras.KerasTensor((*x.shape[:-1], 2), "float32")

    def get_config(self):
        return super().get_config() | {
            "initializer_range": self.initializer_range
        }


def _tokens_at(positions, x):
    """Positions [B, P] in the rows of x [B, S, H] -> [B*P, H]."""
    batch_size, seq_length = ops.shape(x)[0], ops.shape(x)[1]
    offsets = ops.arange(batch_size, dtype="int32")[:, None] * seq_length
    rows = ops.reshape(ops.cast(positions, "int32") + offsets, (-1,))
    tokens = ops.reshape(x, (-1, x.shape[-1]))  # [T, H]
    return ops.take(tokens, rows, axis=0)


def _last_positions(input_mask, num_sequences):
    """Where the sequences numbered 1 to K in the rows end: int32 [B, K]."""
    numbers = ops.arange(1, num_sequences + 1, dtype="int32")[:, None]
    mask = input_mask[:, None]  # [B, 1, S]
    is_until = (mask > 0) & (mask <= numbers)  # [B, K, S]
    num_tokens = ops.sum(ops.cast(is_until, "int32"), axis=-1)
    return ops.maximum(num_tokens - 1, 0)
