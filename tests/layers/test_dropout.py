import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_bert.layers.dropout import Dropout

NUM_PAIRS = 200_000


def _is_dropped(rate, dtype):
    """Returns which entries are dropped: bool [2, N], a number per column."""
    layer = Dropout(rate, seed=7, dtype=dtype)
    x = ops.ones((2, NUM_PAIRS), dtype)
    return ops.convert_to_numpy(layer(x, training=True)) == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_entries_of_a_number_are_dropped_independently(rate, dtype):
    first, second = _is_dropped(rate, dtype)
    for is_dropped, expected in (
        (first, rate),
        (second, rate),
        (first & second, rate**2),
    ):
        deviation = np.sqrt(expected * (1 - expected) / NUM_PAIRS)
        share = is_dropped.mean()
        np.testing.assert_allclose(share, expected, atol=4 * deviation)


@pytest.mark.parametrize("shape", [(1,), (2,), (5, 3), (1, 4, 7, 7)])
def test_kept_entries_are_divided_by_their_share(shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    y = ops.convert_to_numpy(Dropout(0.25, seed=3)(x, training=True))
    assert y.shape == shape
    np.testing.assert_allclose(y, np.where(y == 0, 0, x / 0.75), rtol=1e-6)


@pytest.mark.parametrize(("rate", "training"), [(0.4, False), (0.0, True)])
def test_nothing_is_dropped(rate, training):
    x = np.ones((4, 5), np.float32)
    np.testing.assert_array_equal(Dropout(rate)(x, training=training), x)


def test_each_call_drops_other_entries_and_a_seed_repeats_them():
    x = np.ones((50, 50), np.float32)
    first, again = Dropout(0.5, seed=1), Dropout(0.5, seed=1)
    calls = [np.array(layer(x, training=True)) for layer in (first, again)]
    np.testing.assert_array_equal(*calls)
    assert (calls[0] != np.array(first(x, training=True))).any()


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tf.function"
)
def test_the_gradient_for_an_unknown_shape():
    layer = Dropout(0.5, seed=1)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def with_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
        return y, tape.gradient(y, x)

    for shape in ((3, 8), (6, 5)):
        y, gradient = with_gradient(tf.ones(shape))
        assert y.shape == shape
        assert set(np.unique(y)) == {0, 2}
        np.testing.assert_array_equal(gradient, y)


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_wrong_rate_is_an_error(rate):
    with pytest.raises(ValueError, match=f"rate is {rate}; give a number"):
        Dropout(rate)


def test_it_survives_serialization():
    layer = Dropout(0.3, seed=5, name="some")
    copy = Dropout.from_config(layer.get_config())
    assert (copy.rate, copy.seed, copy.name) == (0.3, 5, "some")
