"""The CRF beside sums over all rows of labels, in NumPy."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.layers.crf import Crf, crf_loss, marginals, viterbi

L = 3
# Of 7 tokens, these are the words of each row.
WORDS = [[1, 2, 4, 5], [0], [], [2, 6], [0, 1, 2, 3, 4]]
B, S = len(WORDS), 7
RANDOM = np.random.default_rng(3)
LOGITS = RANDOM.normal(0, 2, (B, S, L)).astype("float32")
TRANSITIONS = RANDOM.normal(0, 2, (L, L)).astype("float32")
LABELS = np.zeros((B, S), "int32")
for row, places in zip(LABELS, WORDS, strict=True):
    row[places] = RANDOM.integers(1, L + 1, len(places))


def _scores(logits):
    """The score of every row of labels of some words, by the labels."""
    return {
        labels: sum(x[i] for x, i in zip(logits, labels, strict=True))
        + sum(TRANSITIONS[i, j] for i, j in itertools.pairwise(labels))
        for labels in itertools.product(range(L), repeat=len(logits))
    }


def _loss(row):
    if not WORDS[row]:
        return 0.0
    scores = _scores(LOGITS[row, WORDS[row]].astype("float64"))
    gold = scores[tuple(LABELS[row, WORDS[row]] - 1)]
    return np.log(sum(np.exp(list(scores.values())))) - gold


def _chain(logits, transitions):
    transitions = tf.repeat(transitions[None], B, axis=0)
    return tf.concat([transitions, logits], axis=1)


def test_the_loss_of_all_rows_of_labels():
    losses = crf_loss(LABELS, _chain(LOGITS, TRANSITIONS)).numpy()
    assert losses.shape == (B, S)
    assert not losses[LABELS == 0].any()
    for row, places in enumerate(WORDS):
        assert losses[row].sum() == pytest.approx(_loss(row), abs=1e-5)
        assert len(set(losses[row, places].tolist())) == min(len(places), 1)


@functools.cache
def _slopes():
    """The slopes of the sum of all losses by the logits and transitions."""
    slopes = []
    for x in (LOGITS, TRANSITIONS):
        slope = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            old, values = x[place], []
            for step in (0.01, -0.01):
                x[place] = old + step
                values.append(sum(map(_loss, range(B))))
                x[place] = old
            slope[place] = (values[0] - values[1]) / 0.02
        slopes.append(slope)
    return slopes


@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_gradient_is_the_slope_of_the_loss(jit_compile):
    """Also where shapes are unknown, and compiled by XLA."""

    def take(labels, logits, transitions):
        with tf.GradientTape() as tape:
            tape.watch([logits, transitions])
            loss = tf.reduce_sum(crf_loss(labels, _chain(logits, transitions)))
        return loss, tape.gradient(loss, [logits, transitions])

    specs = [
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None, None, L]),
        tf.TensorSpec([L, L]),
    ]
    take = tf.function(
        take,
        input_signature=None if jit_compile else specs,
        jit_compile=jit_compile,
    )
    loss, slopes = take(*map(tf.constant, (LABELS, LOGITS, TRANSITIONS)))
    assert float(loss) == pytest.approx(sum(map(_loss, range(B))), abs=1e-4)
    for slope, expected in zip(slopes, _slopes(), strict=True):
        np.testing.assert_allclose(slope, expected, atol=2e-3, rtol=0)


def _first_words():
    """The words of each row, before its padding."""
    logits = np.zeros((B, S, L), "float32")
    for row, places in enumerate(WORDS):
        logits[row, : len(places)] = LOGITS[row, places]
    counts = np.array(list(map(len, WORDS)))
    return logits, np.arange(S) < counts[:, None], TRANSITIONS[None]


def test_viterbi_and_marginals_of_all_rows_of_labels():
    args = _first_words()
    best = keras.ops.convert_to_numpy(viterbi(*args))
    probabilities = keras.ops.convert_to_numpy(marginals(*args))
    for row, places in enumerate(WORDS):
        if places:
            scores = _scores(LOGITS[row, places].astype("float64"))
            expected = max(scores, key=scores.get)
            assert tuple(best[row, : len(places)]) == expected
            total = sum(np.exp(list(scores.values())))
            for i, label in np.ndindex(len(places), L):
                share = [np.exp(scores[x]) for x in scores if x[i] == label]
                assert probabilities[row, i, label] == pytest.approx(
                    sum(share) / total, abs=1e-5
                )


def test_labels_that_are_the_best_at_their_word_need_not_be_so_together():
    """0 1 0 1 and 1 0 1 0 have equal scores, and no other labels are better."""
    transitions = np.array([[[-5, 0], [0, -5]]], "float32")
    best = viterbi(np.zeros((1, 4, 2), "float32"), np.ones((1, 4)), transitions)
    assert best.numpy()[0].tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_the_layer_puts_the_transitions_first():
    layer = Crf(name="crf")
    inputs = keras.Input((None, L))
    model = keras.Model(inputs, layer(inputs))
    assert model.output.shape == (None, None, L)
    assert [w.path for w in model.weights] == ["crf/transitions"]
    layer.transitions.assign(TRANSITIONS)
    expected = _chain(LOGITS, TRANSITIONS)
    np.testing.assert_array_equal(model(LOGITS), expected)
