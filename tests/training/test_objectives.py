"""Losses of a whole batch; see also test_steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from fit_steps import count_nothing, fit

from keras_bert.training.gradients import BatchGradients
from keras_bert.training.objectives import BatchObjective
from keras_bert.training.steps import Steps

X = np.random.default_rng(2).normal(size=(12, 5)).astype("float32")


def _spread(labels, outputs, weights):
    """How near the vectors of the batch are to each other."""
    products = tf.cast(outputs @ tf.transpose(outputs), tf.float32)
    return tf.reduce_mean(tf.square(products - tf.linalg.diag(labels)))


def _model(optimizer, rate=0.0, dtype="float32", **settings):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((5,), name="x")
    x = keras.layers.Dense(7, activation="tanh", dtype=dtype)(inputs)
    x = keras.layers.Dropout(rate, seed=1, dtype=dtype)(x)
    return Steps(
        keras.Model({"x": inputs}, {"logits": x}),
        {"logits": BatchObjective(_spread)},
        optimizer,
        count_work=count_nothing,
        **settings,
    )


def _fit(steps):
    data = ({"x": X}, {"logits": np.linspace(0, 2, 12, dtype="float32")})
    dataset = tf.data.Dataset.from_tensors(data).repeat()
    losses = fit(steps, dataset, steps_per_epoch=1, epochs=3)["loss"]
    return losses, steps.network.get_weights()[:2]


@pytest.mark.parametrize("num_parts", [1, 4])
def test_the_gradient_is_exact(num_parts):
    """As a gradient tape gives it that sees the whole batch at once."""
    model = _model(
        keras.optimizers.SGD(0.1), gradient_accumulation_steps=num_parts
    )
    weights = [tf.Variable(w) for w in model.network.get_weights()]
    expected = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            outputs = tf.tanh(X @ weights[0] + weights[1])
            loss = _spread(tf.linspace(0.0, 2.0, 12), outputs, None)
        for w, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.1 * slope)
        expected.append(float(loss))
    losses, trained = _fit(model)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert losses[2] < 0.9 * losses[0]
    for found, w in zip(trained, weights, strict=True):
        np.testing.assert_allclose(found, w.numpy(), atol=1e-6)


def test_both_passes_drop_the_same_entries(monkeypatch):
    runs = [_fit(_model(keras.optimizers.SGD(0.1), rate=0.4))]
    monkeypatch.setattr(BatchGradients, "_takes_two_passes", True)
    runs.append(_fit(_model(keras.optimizers.SGD(0.1), rate=0.4)))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-6)
    for one, two in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.parametrize("num_parts", [1, 3])
def test_the_loss_is_scaled_in_float16(num_parts):
    """An update that is 1,024 times too small or too large would show."""
    runs = [
        _fit(
            _model(
                optimizer,
                dtype=dtype,
                gradient_accumulation_steps=num_parts,
            )
        )
        for dtype, optimizer in (
            ("float32", keras.optimizers.SGD(0.1)),
            (
                "mixed_float16",
                keras.optimizers.LossScaleOptimizer(
                    keras.optimizers.SGD(0.1), initial_scale=2.0**10
                ),
            ),
        )
    ]
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=5e-3)
    for exact, half in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(exact, half, atol=5e-3)
