"""Two replicas give the same updates as one device with both batches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.config import TrainConfig
from keras_bert.training.optimizers.build import (
    LossScaleOptimizer,
    build_optimizer,
)

RANDOM = np.random.default_rng(5)
# The halves differ, and so do the norms of their gradients.
X = RANDOM.normal(size=(12, 5)).astype("f") * np.repeat([[3.0], [0.3]], 6, 0)
Y = (RANDOM.normal(size=(12, 1)) * 4).astype("f")
ONE_DEVICE = tf.distribute.get_strategy()


def _optimizer(name, **settings):
    config = TrainConfig(optimizer=name, learning_rate=0.02, **settings)
    return build_optimizer(config, 10, 2)


def _fitted(strategy, optimizer, x=X):
    with strategy.scope():
        keras.utils.set_random_seed(3)
        inputs = keras.Input((5,))
        hidden = keras.layers.Dense(7, activation="tanh")(inputs)
        hidden = keras.layers.LayerNormalization(name="layer_norm")(hidden)
        model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
        model.compile(optimizer(), "mse", jit_compile=False)
    dataset = tf.data.Dataset.from_tensor_slices((x, Y)).batch(12).repeat()
    model.fit(dataset, steps_per_epoch=4, shuffle=False, verbose=0)
    return model


def _assert_equal(model, other, atol):
    variables = model.weights + model.optimizer.variables
    others = other.weights + other.optimizer.variables
    for a, b in zip(variables, others, strict=True):
        np.testing.assert_allclose(
            a.numpy(), b.numpy(), atol=atol, rtol=0, err_msg=a.path
        )


every = pytest.mark.parametrize("name", ["adam_weight_decay", "lamb", "adamw"])
# All take the same path, as the exact test of the clipping shows.
slow_but_adam = pytest.mark.parametrize(
    "name",
    [
        "adam_weight_decay",
        pytest.param("lamb", marks=pytest.mark.slow),
        pytest.param("adamw", marks=pytest.mark.slow),
    ],
)


@slow_but_adam
def test_fit_on_two_replicas_equals_one_device(mirrored, name):
    one, two = (
        _fitted(strategy, lambda: _optimizer(name))
        for strategy in (ONE_DEVICE, mirrored)
    )
    _assert_equal(one, two, atol=1e-6)
    for weight in two.weights:
        first, second = weight.value.values
        np.testing.assert_array_equal(first.numpy(), second.numpy())


@every
def test_the_sum_over_replicas_is_clipped(mirrored, name):
    """Exactly as on one device; Keras clips each replica's gradient."""
    grads = [tf.constant([3.0, 4.0, 0.0]), tf.constant([0.0, -2.0, 1.0])]

    def updated(strategy, gradient):
        with strategy.scope():
            variable = keras.Variable([0.1, 0.2, 0.3], name="kernel")
            optimizer = _optimizer(name)
            optimizer.build([variable])

        @tf.function
        def step():
            strategy.run(lambda: optimizer.apply([gradient()], [variable]))

        for _ in range(3):
            step()
        return variable.numpy()

    def gradient_of_replica():
        context = tf.distribute.get_replica_context()
        return tf.gather(grads, context.replica_id_in_sync_group)

    np.testing.assert_array_equal(
        updated(mirrored, gradient_of_replica),
        updated(ONE_DEVICE, lambda: sum(grads)),
    )


@pytest.mark.slow
@slow_but_adam
def test_with_a_scaled_loss(mirrored, name):
    def optimizer():
        return _optimizer(name, precision="float16")

    one = _fitted(ONE_DEVICE, optimizer)
    two = _fitted(mirrored, optimizer)
    assert type(two.optimizer) is LossScaleOptimizer
    _assert_equal(one, two, atol=1e-6)
    assert one.optimizer.iterations.numpy() == 4


@pytest.mark.slow
def test_an_overflow_in_any_replica_skips_the_step(mirrored):
    """Keras looks at the first replica only, which has rows 0 to 5."""
    overflowing = X.copy()
    overflowing[9] = np.inf
    model = _fitted(
        mirrored,
        lambda: _optimizer("adam_weight_decay", precision="float16"),
        overflowing,
    )
    assert model.optimizer.iterations.numpy() == 0
    assert model.optimizer.dynamic_scale.numpy() == 2.0**15 / 2**4
    for weight in model.weights:
        for replica in weight.value.values:
            assert np.isfinite(replica.numpy()).all()
