"""Sequences that share a row, pooled apart."""

import numpy as np
import tensorflow as tf

from keras_bert.layers.sequences import SequencePooling

MASK = np.array([[1, 1, 2, 2, 2, 3, 0], [1, 1, 1, 1, 0, 0, 0]])


def test_the_maximum_of_each_sequence_and_its_gradient():
    x = tf.constant(np.random.default_rng(1).normal(size=(2, 7, 5)), "float32")
    with tf.GradientTape() as tape:
        tape.watch(x)
        pooled = SequencePooling("max")(x, MASK, np.zeros([2, 3]))
    gradient = tape.gradient(pooled, x).numpy()
    assert pooled.shape == (2, 3, 5)
    assert np.isfinite(pooled).all()  # of absent sequences too
    expected = np.zeros([2, 7, 5])
    for row, number in (0, 1), (0, 2), (0, 3), (1, 1):
        own = np.where(MASK[row] == number)[0]
        tokens = x.numpy()[row, own]
        found = pooled[row, number - 1]
        np.testing.assert_array_equal(found, tokens.max(axis=0))
        expected[row, own[tokens.argmax(axis=0)], range(5)] = 1
    np.testing.assert_array_equal(gradient, expected)
    alone = SequencePooling("max")(x, np.int32(MASK == 1))
    np.testing.assert_array_equal(alone, pooled[:, 0])
