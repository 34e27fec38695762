import numpy as np
import tensorflow as tf

from keras_bert.text.masking import (
    row_bits,
    to_integers,
    to_order,
    to_uniform,
)

SEEDS = tf.constant([[7, row] for row in range(300)], tf.int64)


def _splitmix(state):
    """The published algorithm, in Python's integers."""
    limit = (1 << 64) - 1
    state = (state + 0x9E3779B97F4A7C15) & limit
    z = state
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & limit
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & limit
    return state, z ^ (z >> 31)


def test_a_row_is_a_splitmix_sequence():
    key = 5  # the stream
    for seed in (7, 3):
        key = _splitmix(key)[1] ^ seed
    state, expected = _splitmix(key)[1], []
    for _ in range(11):
        state, value = _splitmix(state)
        expected.append(value)
    bits = row_bits(SEEDS[3:4], 5, tf.range(11)).numpy()
    assert bits.tolist() == [expected]


def test_columns_seeds_and_streams():
    bits = row_bits(SEEDS, 0, tf.range(50)).numpy()
    assert bits.shape == (300, 50) and len(set(bits.ravel())) == 15_000
    columns = tf.tile([[40, 3]], [300, 1])
    some = row_bits(SEEDS, 0, columns).numpy()
    np.testing.assert_array_equal(some, bits[:, [40, 3]])
    assert not np.isin(row_bits(SEEDS, 1, tf.range(50)).numpy(), bits).any()
    negative = row_bits(-SEEDS, 0, tf.range(50)).numpy()
    assert not np.isin(negative, bits).any()


def test_draws_are_even():
    bits = row_bits(SEEDS, 0, tf.range(1000))
    uniform = to_uniform(bits).numpy()
    assert uniform.dtype == np.float32
    assert 0 <= uniform.min() < 1e-4 and 1 - 1e-4 < uniform.max() < 1
    counts = np.histogram(uniform, 10, (0, 1))[0]
    np.testing.assert_allclose(counts, 30_000, rtol=0.03)
    integers = to_integers(bits, 7).numpy()
    np.testing.assert_allclose(
        np.bincount(integers.ravel()), 3e5 / 7, rtol=0.03
    )
    assert to_order(bits).dtype == tf.int32
    assert to_order(bits).numpy().min() >= 0
    # No row and no column is like its neighbour.
    for a, b in (uniform[1:], uniform[:-1]), (uniform[:, 1:], uniform[:, :-1]):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.01
