"""A step trains on what `fit` of Keras trains on."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from fit_steps import count_nothing, fit, fit_arrays
from keras import ops

from keras_bert.training.distribution import distribute
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.objectives import Objective
from keras_bert.training.optimizers.adam import AdamWeightDecay
from keras_bert.training.steps import Steps

RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=(12, 5)).astype("float32")
Y = np.arange(12) % 2
ONE_DEVICE = tf.distribute.get_strategy()


class _NearOne(keras.layers.Layer):
    def call(self, x):
        self.add_loss(3 * ops.mean(ops.square(x - 1)))
        return x


def _network():
    keras.utils.set_random_seed(3)
    inputs = keras.Input((5,), name="x")
    x = keras.layers.Dense(
        7,
        activation="tanh",
        kernel_regularizer=keras.regularizers.L2(4.0),
        activity_regularizer=keras.regularizers.L2(2.0),
    )(inputs)
    x = _NearOne()(x)
    return keras.Model({"x": inputs}, {"logits": keras.layers.Dense(2)(x)})


def _steps(network=None, objective=None, **settings):
    return Steps(
        network or _network(),
        {"logits": objective or Objective(cross_entropy)},
        AdamWeightDecay(0.05),
        count_work=count_nothing,
        **settings,
    )


@pytest.fixture(scope="module")
def by_keras():
    network = _network()
    network.compile(AdamWeightDecay(0.05), {"logits": cross_entropy})
    network.fit({"x": X}, {"logits": Y}, batch_size=12, epochs=3, verbose=0)
    return network


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_accumulation_steps": 3},
        {"jit_compile": True},
        {"strategy": "mirrored", "gradient_accumulation_steps": 2},
    ],
    ids=str,
)
def test_the_losses_of_layers_are_those_of_keras(by_keras, settings, request):
    """Those of `add_loss`, and of regularizers of weights and outputs."""
    settings = dict(settings)
    strategy = ONE_DEVICE
    if name := settings.pop("strategy", None):
        strategy = request.getfixturevalue(name)
    with strategy.scope():
        steps = _steps(**settings)
    data = tf.data.Dataset.from_tensors(({"x": X}, {"logits": Y})).repeat()
    fit(steps, distribute(strategy, lambda share: data), steps_per_epoch=3)
    for a, b in zip(steps.network.weights, by_keras.weights, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-5)


def test_a_micro_batch_without_rows_adds_no_loss():
    steps = _steps(gradient_accumulation_steps=2)
    fit_arrays(steps, {"x": X[:1]}, {"logits": Y[:1]})
    assert all(np.isfinite(w).all() for w in steps.network.get_weights())


def test_labels_may_have_an_axis_of_size_1():
    """The weights are ones by default, in the shape of the labels."""
    objective = Objective(cross_entropy, {"accuracy": accuracy})
    runs = []
    for labels in Y, Y[:, None]:
        steps = _steps(objective=objective)
        figures = fit_arrays(steps, {"x": X}, {"logits": labels})
        runs.append((figures, *map(tuple, steps.network.get_weights()[-1:])))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("of_loss", [(12,), (12, 1)])
@pytest.mark.parametrize("of_weights", [(12,), (12, 1)])
def test_weights_may_have_an_axis_of_size_1(of_loss, of_weights):
    objective = Objective(lambda labels, outputs: tf.reshape(outputs, of_loss))
    numbers = tf.range(12.0)
    sums = objective.sums(Y, numbers, tf.reshape(numbers, of_weights))
    assert list(map(float, sums["loss"])) == [506, 66]


def test_weights_that_do_not_fit_are_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError):
        Objective(cross_entropy).sums(Y, tf.zeros([12, 2]), tf.ones([12, 3]))


@pytest.mark.parametrize("num_parts", [1, 3])
def test_a_weight_without_a_gradient_stays(num_parts):
    network = _network()
    unused = keras.layers.Dense(4, name="unused")(network.input["x"])
    network = keras.Model(network.input, network.output | {"other": unused})
    before = network.get_layer("unused").get_weights()
    steps = _steps(network, gradient_accumulation_steps=num_parts)
    with pytest.warns(UserWarning, match="no gradient for unused/kernel"):
        fit_arrays(steps, {"x": X}, {"logits": Y}, num_steps=2)
    after = network.get_layer("unused").get_weights()
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
