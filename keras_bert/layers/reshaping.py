"""Layers that join and split the axes of examples, rows and tokens.

The encoder computes on the flat token matrix [T, H]. For inputs of rank 2,
TensorFlow fuses matrix product, bias and activation; for inputs of rank 3, it
does not recognize the pattern.
"""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.dense import build_dense


@keras.saving.register_keras_serializable(package="keras_bert")
class FlattenTokens(keras.layers.Layer):
    """Joins the rows of a batch: [B, S, E] -> [T, H] with T = B * S.

    If `units` is given, a dense layer projects the vectors to this size, H
    (ELECTRA, arXiv 2003.10555). If not, H is E.
    """

    def __init__(
        self,
        units: int | None = None,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.initializer_range = initializer_range

    def build(self, x_shape: Any) -> None:
        if self.units:
            self.projection = build_dense(
                self, "projection", x_shape[-1], self.units
            )

    def call(self, x: Any) -> Any:
        x = ops.reshape(x, (-1, x.shape[-1]))  # [T, E]
        return self.projection(x) if self.units else x

    def compute_output_spec(self, x: Any) -> Any:
        size = self.units or x.shape[-1]
        return keras.KerasTensor((None, size), self.compute_dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class UnflattenTokens(keras.layers.Layer):
    """Splits tokens into rows: [T, H] and the input mask [B, S] -> [B, S, H].

    The mask can have more axes, such as [B, R, S], and so can the first input.
    """

    def call(self, x: Any, input_mask: Any) -> Any:
        _, *sizes = ops.shape(input_mask)
        return ops.reshape(x, (-1, *sizes, *ops.shape(x)[1:]))  # [B, S, H]

    def compute_output_spec(self, x: Any, input_mask: Any) -> Any:
        shape = (*input_mask.shape, *x.shape[1:])
        return keras.KerasTensor(shape, self.compute_dtype)


def tokens_at(positions: Any, x: Any) -> Any:
    """Returns the vectors of x [B, S, H] at positions [B, P], as [B*P, H]."""
    if "float" in keras.backend.standardize_dtype(positions.dtype):
        # Keras casts floats to the layer's dtype. bfloat16 has no 257.
        raise ValueError("The positions are floats, but must be integers.")
    batch_size, seq_length = ops.shape(x)[0], ops.shape(x)[1]
    offsets = ops.arange(batch_size, dtype="int32")[:, None] * seq_length
    rows = ops.reshape(ops.cast(positions, "int32") + offsets, (-1,))
    tokens = ops.reshape(x, (-1, x.shape[-1]))  # [T, H]
    return ops.take(tokens, rows, axis=0)


@keras.saving.register_keras_serializable(package="keras_bert")
class FoldChoices(keras.layers.Layer):
    """Joins the rows of all examples into one axis: [B, R, S] -> [B*R, S]."""

    def call(self, x: Any) -> Any:
        return ops.reshape(x, (-1, ops.shape(x)[-1]))

    def compute_output_spec(self, x: Any) -> Any:
        return keras.KerasTensor((None, x.shape[-1]), x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class UnfoldChoices(keras.layers.Layer):
    """Splits off the axis of examples: [B*R, K, ...] -> [B, R*K, ...].

    The input is [B*R, K] or [B*R, K, H]. A row contains K choices, and an
    example has R * K choices. R comes from the second input, [B, R, S], which
    is an input of `FoldChoices`.
    """

    def call(self, x: Any, like: Any) -> Any:
        num_choices = ops.shape(like)[1] * ops.shape(x)[1]
        return ops.reshape(x, (-1, num_choices, *x.shape[2:]))

    def compute_output_spec(self, x: Any, like: Any) -> Any:
        return keras.KerasTensor((like.shape[0], None, *x.shape[2:]), x.dtype)
