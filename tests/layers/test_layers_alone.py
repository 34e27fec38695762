"""Layers in a network of the user's own: what they take, and what they refuse.

What a layer would read wrongly without an error is refused.
"""

import numpy as np
import pytest

from keras_bert.layers import EncoderBlock, MaskedLMHead, Pooler, SelfAttention
from keras_bert.layers.sequences import SequencePooling

X = np.arange(120, dtype="float32").reshape(2, 5, 12) / 60 - 1
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")


@pytest.mark.parametrize("dtype", ["bool", "float32"])
@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (EncoderBlock(3, 20), X.reshape(-1, 12)),
        (Pooler(left_to_right=True), X),
        (Pooler(pooling="mean"), X),
        (SequencePooling("max"), X),
    ],
)
def test_a_mask_of_any_dtype(layer, x, dtype):
    expected = layer(x, MASK)
    np.testing.assert_array_equal(layer(x, MASK.astype(dtype)), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EncoderBlock(3, 20, norms="pre"), "one of after, before"),
        (lambda: EncoderBlock(3, 20, biases="norm,output"), "'norm,output'"),
        (lambda: EncoderBlock(3, 20, activation="swish"), "one of gelu"),
        (lambda: SelfAttention(3, positions="rope"), "one of None, absolute"),
        (lambda: Pooler(pooling="max"), "one of cls, mean"),
        (lambda: SequencePooling("sum"), "one of mean, cls, max"),
    ],
)
def test_an_unknown_option(make, message):
    with pytest.raises(ValueError, match=message):
        make()(X.reshape(-1, 12), MASK)


@pytest.mark.parametrize("layer", [SelfAttention(3), EncoderBlock(3, 20)])
def test_rows_of_tokens_are_not_flat_tokens(layer):
    """Of rows with one token, each would be added to all others."""
    with pytest.raises(ValueError, match="must be flat tokens"):
        layer(X[:, :1], MASK[:, :1])


def test_positions_that_are_floats():
    with pytest.raises(ValueError, match="must be integers"):
        MaskedLMHead(dtype="mixed_bfloat16")(X, np.array([[1.0], [2.0]]), X[0])
