"""Every row of a global batch has a dropout mask of its own."""

import random
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
from fit_steps import count_nothing, fit
from small_run import train_small

from keras_bert.layers.dropout import Dropout
from keras_bert.training.distribution import distribute
from keras_bert.training.objectives import Objective
from keras_bert.training.steps import Steps

ONE_DEVICE = tf.distribute.get_strategy()
ROWS, WIDTH = 4, 20


def _mask_of_row(row):
    """The kept entries of that row, as the bits of a number."""

    def number(labels, outputs):
        kept = tf.cast(outputs != 0, tf.float32)
        bits = tf.reduce_sum(kept * 2.0 ** tf.range(WIDTH, dtype=tf.float32), 1)
        return tf.where(labels == row, ROWS * bits, 0.0)

    return number


def _masks(strategy, layer_class=Dropout, steps=3, **settings):
    """The masks of the rows in each step: int [steps, ROWS]."""
    with strategy.scope():
        inputs = keras.Input((WIDTH,), name="x")
        x = keras.layers.Dense(
            WIDTH, use_bias=False, kernel_initializer="identity"
        )(inputs)
        outputs = layer_class(0.5, seed=7)(x)
        model = Steps(
            keras.Model({"x": inputs}, {"logits": outputs}),
            {
                "logits": Objective(
                    lambda labels, outputs: 0.0 * outputs[:, 0],
                    {f"row {i}": _mask_of_row(i) for i in range(ROWS)},
                )
            },
            keras.optimizers.SGD(0.0),
            count_work=count_nothing,
            **settings,
        )
    data = ({"x": tf.ones((ROWS, WIDTH))}, {"logits": tf.range(ROWS)})
    dataset = distribute(
        strategy,
        lambda share: (
            tf.data.Dataset.from_tensors(data)
            .map(lambda *x: share.cut(x))
            .repeat()
        ),
    )
    history = fit(model, dataset, steps_per_epoch=1, epochs=steps)
    variables = model.network.variables
    seeds = [v for v in variables if v.name == "seed_generator_state"]
    num_parts = settings.get("gradient_accumulation_steps", 1)
    assert seeds[0].numpy().tolist() == [7, steps * num_parts]
    return np.array(
        [[history[f"row {i}"][s] for i in range(ROWS)] for s in range(steps)]
    )


@pytest.mark.parametrize(
    "layer_class",
    [Dropout, pytest.param(keras.layers.Dropout, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_accumulation_steps": 2},
        pytest.param({"jit_compile": True}, marks=pytest.mark.slow),
        pytest.param(
            {"jit_compile": True, "gradient_accumulation_steps": 2},
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
def test_replicas_and_micro_batches(mirrored, settings, layer_class):
    one, two = (
        _masks(strategy, layer_class, **settings)
        for strategy in (ONE_DEVICE, mirrored)
    )
    for masks in (one, two):
        assert len(np.unique(masks)) == masks.size
        assert (masks > 0).all()


def test_the_first_replica_draws_what_one_device_draws(mirrored):
    """One device has 4 rows in 2 parts; the first replica has 2 rows."""
    one = _masks(ONE_DEVICE, steps=1, gradient_accumulation_steps=2)
    two = _masks(mirrored, steps=2)
    np.testing.assert_array_equal(two[:, :2].ravel(), one[0])


def test_a_run_leaves_the_random_states_alone(tmp_path):
    draws = []
    for trains in (False, True):
        keras.utils.set_random_seed(3)
        keras.random.uniform(())  # Keras makes its generator
        if trains:
            train_small(tmp_path, 2)
        draws.append(
            (
                random.random(),
                np.random.random(),
                float(keras.random.uniform(())),
                float(tf.random.uniform(())),
            )
        )
    assert draws[0] == draws[1]


@pytest.mark.slow
def test_two_runs_in_threads_equal_one_alone(tmp_path):
    def train(name):
        return train_small(tmp_path / name, 2)[0].get_weights()

    alone = train("alone")
    with ThreadPoolExecutor(2) as threads:
        for weights in threads.map(train, ("first", "second")):
            for a, b in zip(weights, alone, strict=True):
                np.testing.assert_array_equal(a, b)
