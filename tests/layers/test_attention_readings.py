"""What the attention of a block computes on its way."""

import numpy as np

from keras_bert.layers.attention_readings import AttentionProbabilities
from keras_bert.layers.encoder_block import EncoderBlock


def test_a_norm_comes_before_the_attention():
    """So the attention does not depend on the size of the input."""
    block = EncoderBlock(num_heads=3, intermediate_size=20, norms="before")
    x = np.random.default_rng(1).normal(size=[10, 12]).astype("float32")
    mask = np.ones([2, 5], "int32")
    block(x, mask)
    for name in ("query", "key"):
        dense = getattr(block.attention, name)
        dense.kernel.assign(np.random.default_rng(2).normal(size=[12, 12]))
    read = AttentionProbabilities(block)
    attention = read(x, mask).numpy()
    assert np.ptp(attention) > 0.1
    np.testing.assert_allclose(read(3 * x, mask), attention, atol=1e-5)
