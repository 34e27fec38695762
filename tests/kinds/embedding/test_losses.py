"""Each loss beside one written with loops over single rows, in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.kinds.embedding.losses import (
    cosent,
    multiple_negatives,
    of_all_sizes,
    triplet,
    vector,
)

B, C, H = 6, 4, 9
RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(B, C, H)) * RANDOM.uniform(0.1, 9, (B, C, 1))
IDS = np.arange(10, 10 + B * C).reshape(B, C).astype("int32")
SCORES = np.array([2.5, 0.0, 5.0, 2.5, 4.2, 0.0], "float32")


def _cosine(x, y):
    return x @ y / (np.linalg.norm(x) * np.linalg.norm(y))


def _multiple_negatives(ids, x, scale, left_out=()):
    losses = []
    for i in range(B):
        if i in left_out:
            continue
        right = scale * _cosine(x[i, 0], x[i, 1])
        own = {
            ids[k][1]
            for k in range(B)
            if ids[k][0] == ids[i][0] and k not in left_out
        } | {ids[i][0]}
        total = np.exp(right)
        for j in range(B):
            for c in range(1, x.shape[1]):
                if j not in left_out and ids[j][c] not in own:
                    total += np.exp(scale * _cosine(x[i, 0], x[j, c]))
        losses.append(np.log(total) - right)
    return np.mean(losses)


def _cosent(scores, x, scale, left_out=()):
    cosines = [_cosine(a, b) for a, b in x]
    total = 1.0
    for i in range(B):
        for j in range(B):
            if scores[i] > scores[j] and not {i, j} & set(left_out):
                total += np.exp(scale * (cosines[j] - cosines[i]))
    return np.log(total)


def _triplet(x, margin):
    losses = []
    for anchor, positive, *negatives in x:
        least = _cosine(anchor, positive) - margin
        excess = [_cosine(anchor, negative) - least for negative in negatives]
        losses.append(np.mean(np.maximum(excess, 0)))
    return losses


def _weights(left_out, shape):
    weights = np.ones(shape, "float32")
    weights[list(left_out)] = 0
    return weights


@pytest.mark.parametrize("num_texts", [2, 4])
@pytest.mark.parametrize("left_out", [(), (1, 5)], ids=str)
def test_multiple_negatives(num_texts, left_out):
    x, ids = X[:, :num_texts], IDS[:, :num_texts]
    loss = multiple_negatives(
        ids, tf.constant(x), _weights(left_out, ids.shape), scale=7.0
    )
    expected = _multiple_negatives(ids, x, 7.0, left_out)
    assert float(loss) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("row", "column", "like"),
    [
        (2, 1, (0, 1)),  # another positive is the own one
        (2, 3, (0, 1)),  # a negative is the positive of another row
        (2, 1, (0, 0)),  # a positive is the anchor of another row
        (3, 2, (3, 1)),  # a row's negative is its positive
        (2, 0, (0, 0)),  # two rows have the same anchor, and so two positives
    ],
)
@pytest.mark.parametrize("left_out", [(), (1, 2)], ids=str)
def test_a_text_is_never_its_own_negative(row, column, like, left_out):
    ids, x = IDS.copy(), X.copy()
    ids[row, column], x[row, column] = ids[like], x[like]
    loss = multiple_negatives(
        ids, tf.constant(x), _weights(left_out, ids.shape), scale=3.0
    )
    expected = _multiple_negatives(ids, x, 3.0, left_out)
    assert float(loss) == pytest.approx(expected, abs=1e-6)
    counted = multiple_negatives(
        IDS, tf.constant(x), _weights(left_out, ids.shape), scale=3.0
    )
    if row not in left_out:
        assert float(counted) > expected + 1e-3


def test_a_positive_that_is_the_text_of_its_anchor_is_found():
    ids, x = IDS.copy(), X.copy()
    ids[4, 1], x[4, 1] = ids[4, 0], x[4, 0]
    weights = _weights((), ids.shape)
    loss = multiple_negatives(ids, tf.constant(x), weights, scale=3.0)
    expected = _multiple_negatives(ids, x, 3.0)
    assert float(loss) == pytest.approx(expected, abs=1e-6)


def test_a_positive_that_was_left_out_is_a_text_like_any_other():
    """Row 2 fills up the batch: its positive says nothing of its anchor."""
    ids = IDS.copy()
    ids[2, 0], ids[3, 2] = ids[0, 0], ids[2, 1]
    weights = _weights([2], ids.shape)
    loss = multiple_negatives(ids, tf.constant(X), weights, scale=3.0)
    plain = multiple_negatives(IDS, tf.constant(X), weights, scale=3.0)
    assert float(loss) == float(plain)


@pytest.mark.parametrize("left_out", [(), (2, 3)], ids=str)
def test_cosent(left_out):
    x = X[:, :2]
    loss = cosent(
        SCORES, tf.constant(x), _weights(left_out, SCORES.shape), scale=5.0
    )
    expected = _cosent(SCORES, x, 5.0, left_out)
    assert float(loss) == pytest.approx(expected, abs=1e-6)


def test_cosent_of_equal_scores_is_zero():
    equal = np.full(B, 3.0, "float32")
    x = tf.Variable(X[:, :2], dtype=tf.float32)
    with tf.GradientTape() as tape:
        loss = cosent(equal, x, np.ones(B, "float32"), scale=20.0)
    assert float(loss) == 0
    assert not tape.gradient(loss, x).numpy().any()


@pytest.mark.parametrize("num_texts", [3, 4])
def test_triplet(num_texts):
    x = X[:, :num_texts]
    losses = triplet(np.zeros(B, "f"), tf.constant(x), margin=0.3)
    expected = _triplet(x, 0.3)
    np.testing.assert_allclose(losses, expected, atol=1e-6)
    assert 0 < np.count_nonzero(expected)
    assert min(_triplet(x, 0.01)) == 0


def test_vector():
    labels = RANDOM.normal(size=(B, 1, H)).astype("float32")
    losses = vector(labels, tf.constant(X[:, :1]))
    expected = [[1 - _cosine(labels[i, 0], X[i, 0])] for i in range(B)]
    np.testing.assert_allclose(losses, expected, atol=1e-6)


def test_the_loss_is_the_sum_of_those_of_all_sizes():
    sizes = (9, 5, 2)

    def weighted(labels, x, weights):
        return multiple_negatives(labels, x, weights, scale=4.0)

    loss = of_all_sizes(weighted, sizes)(
        IDS, tf.constant(X), _weights((), IDS.shape)
    )
    expected = sum(_multiple_negatives(IDS, X[..., :n], 4.0) for n in sizes)
    assert float(loss) == pytest.approx(expected, abs=2e-6)
    losses = of_all_sizes(
        lambda labels, x: triplet(labels, x, margin=0.2), sizes
    )(np.zeros(B, "f"), tf.constant(X))
    np.testing.assert_allclose(
        losses,
        sum(np.array(_triplet(X[..., :n], 0.2)) for n in sizes),
        atol=1e-6,
    )
