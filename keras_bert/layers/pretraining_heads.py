"""The heads of pre-training: BERT's two (paper, 3.1), and ELECTRA's."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.dense import build_dense, build_layer_norm
from keras_bert.layers.reshaping import tokens_at


@keras.saving.register_keras_serializable(package="keras_bert")
class MaskedLMHead(keras.layers.Layer):
    """A logit for each piece of the vocabulary at each masked position.

    Takes x [B, S, H], `masked_lm_positions`, int [B, P], and the word
    embeddings [V, E], which serve as the output matrix. Returns float32
    [B, P, V]. The layer's own weights are the transform and the output bias.

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
        # The transform makes vectors as wide as the embeddings, which may be
        # narrower than the network.
        size, use_bias = word_embeddings_shape[1], "head" in self.biases.split()
        self.transform = build_dense(
            self, "transform", x_shape[-1], size, self.activation, use_bias
        )
        self.layer_norm = build_layer_norm(self, "layer_norm", size)
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=(word_embeddings_shape[0],),
            initializer="zeros",
        )

    def call(self, x: Any, positions: Any, word_embeddings: Any) -> Any:
        num_positions = ops.shape(positions)[1]
        tokens = tokens_at(positions, x)  # [B*P, H]
        tokens = self.layer_norm(self.transform(tokens))
        # In this order of factors, the gradient of the embeddings needs no
        # transposition.
        logits = ops.matmul(word_embeddings, ops.transpose(tokens))
        logits = ops.transpose(logits) + self.output_bias
        logits = ops.cast(logits, "float32")  # [B*P, V]
        return ops.reshape(logits, (-1, num_positions, logits.shape[-1]))

    def compute_output_spec(
        self, x: Any, positions: Any, word_embeddings: Any
    ) -> Any:
        shape = (*positions.shape, word_embeddings.shape[0])
        return keras.KerasTensor(shape, "float32")


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


@keras.saving.register_keras_serializable(package="keras_bert")
class ReplacedTokensHead(keras.layers.Layer):
    """Logits of "was replaced": tokens [B, S, H] -> float32 [B, S].

    This is the head of ELECTRA's discriminator, arXiv 2003.10555, section 2.

    Example:
        >>> from keras_bert.layers.pretraining_heads import ReplacedTokensHead
        >>> ReplacedTokensHead()(np.ones([2, 5, 12])).shape
        TensorShape([2, 5])
    """

    def __init__(
        self,
        activation: str = "gelu_erf",
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.activation = activation
        self.initializer_range = initializer_range

    def build(self, x_shape: Any) -> None:
        size = x_shape[-1]
        self.dense = build_dense(self, "dense", size, size, self.activation)
        self.output_dense = build_dense(self, "output", size, 1)

    def call(self, x: Any) -> Any:
        logits = self.output_dense(self.dense(x))
        return ops.cast(ops.squeeze(logits, -1), "float32")

    def compute_output_spec(self, x: Any) -> Any:
        return keras.KerasTensor(x.shape[:-1], "float32")


@keras.saving.register_keras_serializable(package="keras_bert")
class SampledTokens(keras.layers.Layer):
    """Replaces masked tokens with tokens that a generator draws.

    Takes `input_ids` [B, S], the masked positions [B, P], the original tokens
    there, int [B, P], and the generator's logits [B, P, V]. Tokens are drawn
    from the softmax of the logits. Position 0 means that there is no masked
    token. Returns the tokens, int32 [B, S], and labels, float32 [B, S]: 1 where
    a token differs from the original, and 0 elsewhere.

    In evaluation, the layer draws the same noise for all batches, so that each
    evaluation of a network gives the same figures. No gradient passes through
    this layer.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator()
        self.built = True

    def call(
        self,
        input_ids: Any,
        positions: Any,
        original_ids: Any,
        logits: Any,
        training: bool | None = False,
    ) -> Any:
        seed = self.seed_generator if training else 0
        uniform = keras.random.uniform(
            ops.shape(logits), 1e-9, 1.0, dtype="float32", seed=seed
        )
        # The argmax of logits with Gumbel noise is a draw from their softmax.
        noisy = ops.cast(logits, "float32") - ops.log(-ops.log(uniform))
        drawn = ops.cast(ops.argmax(noisy, axis=-1), "int32")
        original = self._put(input_ids, positions, original_ids)
        tokens = self._put(input_ids, positions, drawn)
        return tokens, ops.cast(tokens != original, "float32")

    def _put(self, input_ids: Any, positions: Any, ids: Any) -> Any:
        input_ids = ops.cast(input_ids, "int32")
        length = ops.shape(input_ids)[1]
        places = ops.cast(positions, "int32")
        ids = ops.where(places > 0, ops.cast(ids, "int32"), input_ids[:, :1])
        rows = ops.arange(ops.shape(input_ids)[0], dtype="int32") * length
        places = ops.reshape(places + rows[:, None], (-1, 1))
        flat = ops.scatter_update(
            ops.reshape(input_ids, (-1,)), places, ops.reshape(ids, (-1,))
        )
        return ops.reshape(flat, (-1, length))

    def compute_output_spec(
        self, input_ids: Any, *others: Any, **options: Any
    ) -> Any:
        return (
            keras.KerasTensor(input_ids.shape, "int32"),
            keras.KerasTensor(input_ids.shape, "float32"),
        )
