"""Layers that return what the attention in an encoder block computes.

Each layer takes the inputs of a block: x [T, H], `input_mask` [B, S] with
T = B * S, and positions. The layer uses the block's own weights, even if the
block is frozen or part of a network.
"""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.local_attention import mask_adder


class _Reading(keras.layers.Layer):
    """Computes an output from the inputs of a block's attention.

    A subclass has two methods: `read` computes the output from these inputs,
    and `shape_of` returns the shape of the output for given sizes B and S of
    `input_mask`.
    """

    def __init__(self, block: EncoderBlock, **kwargs: Any):
        super().__init__(**kwargs)
        self.block = block

    def call(
        self,
        x: Any,
        input_mask: Any,
        positions: Any = None,
        packed: bool = False,
    ) -> Any:
        x = self.block.attention_input(x)
        return self.read(x, input_mask, positions, packed)

    def compute_output_spec(
        self, x: Any, input_mask: Any, *args: Any, **kwargs: Any
    ) -> Any:
        return keras.KerasTensor(self.shape_of(*input_mask.shape), "float32")


class AttentionProbabilities(_Reading):
    """The attention probabilities of a block, float32 [B, N, S, S].

    An entry says how much one token attends to another, or to itself, in one of
    N heads.
    """

    def read(self, *inputs: Any) -> Any:
        return self.block.attention.probabilities(*inputs)

    def shape_of(self, batch: int | None, length: int | None) -> tuple:
        return batch, self.block.num_heads, length, length


class AttentionScores(_Reading):
    """The scores before the softmax, float32 [T, N, S] (TinyBERT).

    In each head, a token has S scores, one for each token in its row. The score
    of a token that may not be attended to is 0. The other n scores are
    multiplied by sqrt(S / n), so that the mean square of all S scores equals
    the mean square of the n original scores.
    """

    def read(self, *inputs: Any) -> Any:
        scores, adder = self.block.attention.scores(*inputs)
        is_read = ops.cast(adder == 0, "float32")  # [B, S or 1, S]
        share = ops.mean(is_read, axis=-1, keepdims=True)
        weights = is_read / ops.sqrt(ops.maximum(share, 1e-9))
        scores = scores * ops.expand_dims(weights, 1)
        return _of_tokens(scores)

    def shape_of(self, batch: int | None, length: int | None) -> tuple:
        return None, self.block.num_heads, length


class AttentionRelations(_Reading):
    """How alike the queries, keys and values of tokens are: [T, 3 * R, S].

    The query, the key and the value of a token are each cut into
    R = `num_relation_heads` parts. The output, float32, contains the logits
    of a softmax over the S tokens of a text (MiniLMv2, arXiv 2012.15828,
    section 3.1). A logit is the dot product of one token's part and another
    token's corresponding part, divided by the square root of the width of a
    part.
    """

    def __init__(
        self, block: EncoderBlock, num_relation_heads: int, **kwargs: Any
    ):
        super().__init__(block, **kwargs)
        self.num_relation_heads = num_relation_heads

    def read(
        self, x: Any, input_mask: Any, positions: Any, packed: bool
    ) -> Any:
        attention, length = self.block.attention, ops.shape(input_mask)[1]
        width = x.shape[-1] // self.num_relation_heads
        shape = (-1, length, self.num_relation_heads, width)
        relations = []
        for dense in (attention.query, attention.key, attention.value):
            parts = ops.reshape(dense(x) * width**-0.25, shape)
            parts = ops.transpose(parts, (0, 2, 1, 3))  # [B, R, S, D]
            turned = ops.transpose(parts, (0, 1, 3, 2))
            relations.append(ops.matmul(parts, turned))
        logits = ops.cast(ops.concatenate(relations, axis=1), "float32")
        places = ops.arange(length)
        adder = mask_adder(
            input_mask, input_mask, places, places, packed=packed
        )
        return _of_tokens(logits + ops.expand_dims(adder, 1))

    def shape_of(self, batch: int | None, length: int | None) -> tuple:
        return None, 3 * self.num_relation_heads, length


def _of_tokens(x: Any) -> Any:
    """Moves the axis of tokens to the front: [B, N, S, T] -> [B * S, N, T]."""
    x = ops.transpose(x, (0, 2, 1, 3))
    _, length, num_heads, _ = ops.shape(x)
    return ops.reshape(x, (-1, num_heads, length))
