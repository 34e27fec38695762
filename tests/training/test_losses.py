"""The losses beside their formulas in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.losses import (
    accuracy,
    cross_entropy,
    soft_cross_entropy,
    soft_sigmoid_cross_entropy,
    soft_squared_error,
    squared_error,
    weighted_mean,
)

LOGITS = np.random.default_rng(3).normal(size=(2, 5, 31)).astype("f")
IDS = np.arange(10).reshape(2, 5)
WEIGHTS = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], "f")


def test_cross_entropy_and_its_mean_over_masked_tokens():
    log_probs = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    chosen = np.take_along_axis(log_probs, IDS[..., None], -1)[..., 0]
    losses = cross_entropy(IDS, LOGITS)
    np.testing.assert_allclose(losses, -chosen, rtol=1e-5)
    mean = -(chosen * WEIGHTS).sum() / (3 + 1e-5)
    assert float(weighted_mean(losses, WEIGHTS)) == pytest.approx(mean)
    # As a part of a batch with 4 more such tokens.
    part = weighted_mean(losses, WEIGHTS, tf.constant(7.0))
    assert float(part) == pytest.approx(mean * 3.00001 / 7.00001)
    assert float(weighted_mean(losses, 0 * WEIGHTS)) == 0.0
    assert cross_entropy(IDS, tf.cast(LOGITS, tf.bfloat16)).dtype == tf.float32


def test_accuracy():
    logits = np.zeros((2, 3, 4), "f")
    logits[0, 0, 2] = logits[0, 1, 1] = logits[1, 2, 3] = 1
    labels = np.array([[2, 0, 0], [3, 3, 3]])
    np.testing.assert_array_equal(
        accuracy(labels, logits), [[1, 0, 1], [0, 0, 1]]
    )


def test_squared_error():
    errors = squared_error(np.array([1.0, 5.0]), np.array([[3.0], [4.5]], "f"))
    np.testing.assert_array_equal(errors, [4.0, 0.25])


def test_soft_losses():
    """Of the logits of a teacher, at the temperature 3."""
    teacher = np.random.default_rng(4).normal(size=LOGITS.shape) * 2
    t, x = teacher / 3, LOGITS / 3.0
    p = np.exp(t) / np.exp(t).sum(-1, keepdims=True)
    log_probs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    losses = soft_cross_entropy(teacher, LOGITS, 3.0)
    np.testing.assert_allclose(losses, -9 * (p * log_probs).sum(-1), rtol=1e-5)
    p, q = (1 / (1 + np.exp(-y)) for y in (t, x))
    losses = soft_sigmoid_cross_entropy(teacher, LOGITS, 3.0)
    expected = -9 * (p * np.log(q) + (1 - p) * np.log(1 - q))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    errors = soft_squared_error(teacher, LOGITS)
    expected = np.square(teacher - LOGITS).mean(-1)
    np.testing.assert_allclose(errors, expected, rtol=1e-5)
    for loss in (soft_cross_entropy, soft_sigmoid_cross_entropy):
        half = loss(tf.cast(teacher, tf.bfloat16), tf.cast(x, tf.bfloat16), 2.0)
        assert half.dtype == tf.float32


def test_in_plain_compile_and_fit():
    """Keras gives labels [B] to a loss as [B, 1] if the outputs are [B, 1]."""
    x = np.linspace(-1, 1, 6, dtype="f")[:, None]
    labels = np.arange(6.0)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", squared_error)
    expected = np.square(model.predict(x, verbose=0)[:, 0] - labels).mean()
    loss = model.evaluate(x, labels, verbose=0)
    assert loss == pytest.approx(expected, rel=1e-6)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(3)])
    model.compile("sgd", cross_entropy, metrics=[accuracy])
    ids = np.array([0, 1, 2, 0, 1, 2])
    scores = model.predict(x, verbose=0)
    loss, share = model.evaluate(x, ids, verbose=0)
    assert loss == pytest.approx(np.mean(cross_entropy(ids, scores)), rel=1e-6)
    assert share == pytest.approx((scores.argmax(-1) == ids).mean())
