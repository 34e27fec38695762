"""Positions that attention reads: rotations, or biases for distances."""

import math
from typing import Any

import keras
from keras import ops

# MPNet's values, as in T5 (arXiv 1910.10683).
_NUM_BUCKETS = 32
_MAX_DISTANCE = 128


@keras.saving.register_keras_serializable(package="keras_bert")
class RotaryPositions(keras.layers.Layer):
    """The mask [B, S] -> the cosines and sines of all angles, [2, S, D/2].

    At position p, the i-th pair of components of a head of size D is rotated by
    the angle p * theta^(-2i/D) / scaling_factor (RoPE, arXiv 2104.09864). The
    output is float32. D is even.

    Example:
        >>> from keras_bert.layers.positions import RotaryPositions
        >>> RotaryPositions(head_size=4)(np.ones([2, 5], "int32")).shape
        TensorShape([2, 5, 2])
    """

    def __init__(
        self,
        head_size: int,
        theta: float = 10_000.0,
        scaling_factor: float = 1.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.head_size = head_size
        self.theta = theta
        self.scaling_factor = scaling_factor

    def call(self, input_mask: Any) -> Any:
        exponents = ops.arange(0, self.head_size, 2, dtype="float32")
        rates = 1.0 / self.theta ** (exponents / self.head_size)
        positions = ops.arange(ops.shape(input_mask)[1], dtype="float32")
        angles = positions[:, None] * (rates / self.scaling_factor)
        return ops.stack([ops.cos(angles), ops.sin(angles)])

    def compute_output_spec(self, input_mask: Any) -> Any:
        shape = (2, input_mask.shape[1], self.head_size // 2)
        return keras.KerasTensor(shape, "float32")


def rotate(x: Any, rotations: Any) -> Any:
    """Returns queries or keys [B, N, S, D], rotated by angles [2, S, D/2]."""
    dtype = x.dtype
    first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
    # If a layer computes in bfloat16, Keras casts its inputs to bfloat16.
    rotations = ops.cast(rotations, "float32")
    cos, sin = rotations[0], rotations[1]
    turned = [first * cos - second * sin, second * cos + first * sin]
    return ops.cast(ops.concatenate(turned, axis=-1), dtype)


@keras.saving.register_keras_serializable(package="keras_bert")
class RelativePositions(keras.layers.Layer):
    """The mask [B, S] -> a bias for each head and pair of tokens, [N, S, S].

    The bias depends on the direction and the distance from one token to the
    other (MPNet, arXiv 2004.09297). A head has 32 biases, 16 for each
    direction. Each distance below 8 has its own bias. Longer distances are
    grouped into 8 ranges that widen, with one bias for each range. The last
    range begins at the distance 91 and has no upper limit.

    Example:
        >>> from keras_bert.layers.positions import RelativePositions
        >>> RelativePositions(num_heads=3)(np.ones([2, 5], "int32")).shape
        TensorShape([3, 5, 5])
    """

    def __init__(
        self, num_heads: int, initializer_range: float = 0.02, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.initializer_range = initializer_range

    def build(self, input_mask_shape: Any) -> None:
        self.distance_embeddings = self.add_weight(
            name="distance_embeddings",
            shape=(_NUM_BUCKETS, self.num_heads),
            initializer=keras.initializers.TruncatedNormal(
                stddev=self.initializer_range
            ),
            autocast=False,
        )

    def call(self, input_mask: Any) -> Any:
        length = ops.shape(input_mask)[1]
        # First a row for each distance from -(S-1) to S-1: there are far fewer
        # distances than pairs.
        buckets = _bucket(ops.arange(1 - length, length, dtype="int32"))
        rows = ops.take(self.distance_embeddings, buckets, axis=0)  # [2S-1, N]
        positions = ops.arange(length, dtype="int32")
        pairs = positions[None, :] - positions[:, None] + (length - 1)
        biases = ops.take(ops.transpose(rows), pairs, axis=1)  # [N, S, S]
        return ops.cast(biases, "float32")

    def compute_output_spec(self, input_mask: Any) -> Any:
        length = input_mask.shape[1]
        return keras.KerasTensor((self.num_heads, length, length), "float32")


def _bucket(distances: Any) -> Any:
    """Distances to the tokens attended to -> rows of `distance_embeddings`."""
    half = _NUM_BUCKETS // 2
    num_exact = half // 2
    size = ops.abs(distances)
    # The maximum avoids log(0), whose result would not be used.
    ratio = ops.cast(ops.maximum(size, 1), "float32") / num_exact
    scale = (half - num_exact) / math.log(_MAX_DISTANCE / num_exact)
    far = num_exact + ops.cast(ops.log(ratio) * scale, "int32")
    bucket = ops.where(size < num_exact, size, ops.minimum(far, half - 1))
    return bucket + ops.where(distances > 0, half, 0)
