"""Other ways to compute our network on JAX, for measurements only.

    no attention dropout   no attention probability is dropped
    fused attention        `keras.ops.dot_product_attention` with the mask
    sequence lengths       `jax.nn.dot_product_attention` with the lengths
    rbg                    the accelerator's own random numbers, for dropout
    no donation            the step keeps the old weights beside the new ones

The two attentions have no dropout, so they are used with "no attention
dropout". On a GPU, they must run cuDNN's kernels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from unittest import mock

import jax
import jax.numpy as jnp
import keras
from keras import ops

from keras_bert.layers import encoder_block
from keras_bert.layers.attention import SelfAttention

_IS_GPU = jax.default_backend() == "gpu"


class Variants:
    """The chosen variants, which apply to all networks that are built later."""

    def __init__(self, names: Sequence[str]):
        self._names = set(names)
        if unknown := self._names - _NAMES:
            raise ValueError(
                f"There is no variant {min(unknown)!r}; choose from "
                f"{', '.join(sorted(_NAMES))}."
            )
        for name in self._names & set(_ATTENTIONS):
            encoder_block.SelfAttention = _ATTENTIONS[name]

    @property
    def donates(self) -> bool:
        return "no donation" not in self._names

    def config(self, config: dict) -> dict:
        """Returns a network's config with the variants applied."""
        if "no attention dropout" in self._names:
            return config | {"attention_probs_dropout_prob": 0.0}
        return config

    @contextlib.contextmanager
    def while_compiling(self):
        """Lets functions that are compiled in the block use rbg, if chosen."""
        if "rbg" not in self._names:
            yield
            return
        next_seed = keras.random.SeedGenerator.next

        def next_key(self, ordered=True):
            # An rbg key has four numbers, a seed of Keras has two.
            return jnp.tile(next_seed(self, ordered), 2)

        with (
            mock.patch.object(keras.random.SeedGenerator, "next", next_key),
            jax.default_prng_impl("rbg"),
        ):
            yield

    def check_compiled(self, compiled) -> None:
        """Raises AssertionError if a fused attention runs as plain products."""
        if _IS_GPU and self._names & set(_ATTENTIONS):
            assert "fmha" in compiled.as_text(), self._names


class FusedAttention(SelfAttention):
    """Attention by `keras.ops.dot_product_attention`, for a mask of 0 and 1."""

    def call(self, x, input_mask, positions=None, packed=False):
        _, seq_length = ops.shape(input_mask)
        heads = (-1, seq_length, self.num_heads, self.head_size)
        query, key, value = (
            ops.reshape(dense(x), heads)  # [B, S, N, D]
            for dense in (self.query, self.key, self.value)
        )
        context = self._attend(query, key, value, input_mask)
        return self.output_dense(ops.reshape(context, (-1, x.shape[-1])))

    def _attend(self, query, key, value, input_mask):
        seq_length = input_mask.shape[1]
        mask = ops.repeat(  # [B, 1, S, T]
            ops.cast(input_mask, "bool")[:, None, None, :], seq_length, axis=2
        )
        return ops.dot_product_attention(
            query, key, value, mask=mask, flash_attention=_IS_GPU or None
        )


class AttentionByLengths(FusedAttention):
    """Attention by `jax.nn.dot_product_attention`, for padding at row ends."""

    def _attend(self, query, key, value, input_mask):
        return jax.nn.dot_product_attention(
            query,
            key,
            value,
            key_value_seq_lengths=ops.cast(ops.sum(input_mask, 1), "int32"),
            implementation="cudnn" if _IS_GPU else "xla",
        )


_ATTENTIONS = {
    "fused attention": FusedAttention,
    "sequence lengths": AttentionByLengths,
}
_NAMES = {"no attention dropout", "rbg", "no donation", *_ATTENTIONS}
