"""The two heads of pre-training: masked LM and next sentence (paper, 3.1)."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.activations import get_activation
from keras_bert.layers.dense import build_dense, build_layer_norm
from keras_bert.layers.reshaping import tokens_at


@keras.saving.register_keras_serializable(package="keras_bert")
class MaskedLMHead(keras.layers.Layer):
    """Logits of the vocabulary at the masked positions.

    Takes x [B, S, H], `masked_lm_positions` int [B, P] and the word
    embeddings [V, E], with which it multiplies; returns float32 [B, P, V].
    Its own weights are the transform and the output bias.

    Example:
        >>> layer = keras_bert.layers.MaskedLMHead()
        >>> positions = np.array([[1, 4, 0]])
        >>> layer(np.ones([1, 5, 12]), positions, np.ones([31, 12])).shape
        TensorShape([1, 3, 31])
    """

    def __init__(
        self,
        activation: str = "gelu",
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        biases: str = "head norm",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.biases = biases
        self.activation = activation
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps

    def build(
        self, x_shape: Any, positions_shape: Any, word_embeddings_shape: Any
    ) -> None:
        # Of a network with narrow embeddings, the transform narrows too.
        size, biases = word_embeddings_shape[1], self.biases.split()
        self.transform = build_dense(
            self,
            "transform",
            x_shape[-1],
            size,
            get_activation(self.activation),
            use_bias="head" in biases,
        )
        self.layer_norm = build_layer_norm(
            self, "layer_norm", size, "norm" in biases
        )
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=(word_embeddings_shape[0],),
            initializer="zeros",
        )

    def call(self, x: Any, positions: Any, word_embeddings: Any) -> Any:
        num_positions = ops.shape(positions)[1]
        tokens = tokens_at(positions, x)  # [B*P, H]
        tokens = self.layer_norm(self.transform(tokens))
        # In this order, the gradient of the table needs no transposition.
        logits = ops.matmul(word_embeddings, ops.transpose(tokens))
        logits = ops.transpose(logits) + self.output_bias
        logits = ops.cast(logits, "float32")  # [B*P, V]
        return ops.reshape(logits, (-1, num_positions, logits.shape[-1]))

    def compute_output_spec(
        self, x: Any, positions: Any, word_embeddings: Any
    ) -> Any:
        return keras.KerasTensor(
            (*positions.shape, word_embeddings.shape[0]), "float32"
        )


@keras.saving.register_keras_serializable(package="keras_bert")
class NextSentenceHead(keras.layers.Layer):
    """Logits of "is next" (0) and "random" (1): [..., H] -> float32 [..., 2].

    Example:
        >>> keras_bert.layers.NextSentenceHead()(np.ones([4, 12])).shape
        TensorShape([4, 2])
    """

    def __init__(self, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, x_shape: Any) -> None:
        self.dense = build_dense(self, "dense", x_shape[-1], 2)

    def call(self, x: Any) -> Any:
        return ops.cast(self.dense(x), "float32")

    def compute_output_spec(self, x: Any) -> Any:
        return keras.KerasTensor((*x.shape[:-1], 2), "float32")
