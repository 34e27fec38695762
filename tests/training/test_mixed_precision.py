"""Weights stay float32; a step that overflows in float16 is skipped."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.optimizers.adam import AdamWeightDecay, Lamb

both = pytest.mark.parametrize("optimizer_class", [AdamWeightDecay, Lamb])


@pytest.fixture(params=["mixed_bfloat16", "mixed_float16"])
def policy(request):
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


def _compiled(optimizer):
    inputs = keras.Input((5,))
    hidden = keras.layers.Dense(7, activation="tanh")(inputs)
    outputs = keras.layers.Dense(1, dtype="float32")(hidden)
    model = keras.Model(inputs, outputs)
    model.compile(optimizer, "mse", jit_compile=False)
    return model


@pytest.mark.parametrize(
    "optimizer_class",
    [AdamWeightDecay, pytest.param(Lamb, marks=pytest.mark.slow)],
)
def test_it_learns_and_keeps_float32(policy, optimizer_class):
    random = np.random.default_rng(1)
    x = random.normal(size=(32, 5)).astype("f")
    model = _compiled(optimizer_class(0.1))
    losses = model.fit(x, x[:, :1], epochs=12, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 4
    assert model.layers[1].compute_dtype == policy.removeprefix("mixed_")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (
        policy == "mixed_float16"
    )
    for variable in model.weights + model.optimizer.variables:
        assert variable.dtype in ("float32", "int64", "int32"), variable.path


@both
def test_a_scale_that_is_a_power_of_two_changes_nothing(optimizer_class):
    values = []
    for scale in (None, 2.0**15):
        variable = keras.Variable([0.1, 0.2, 0.3], name="kernel")
        optimizer = optimizer_class(0.1)
        if scale:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, scale)
        for grad in ([0.3, 0.7, -1.1], [0.5, -0.1, 0.2]):
            grad = tf.constant(grad) * (scale or 1.0)
            optimizer.apply([grad], [variable])
        values.append(variable.numpy())
    np.testing.assert_array_equal(*values)


@both
def test_a_step_that_overflows_is_skipped(optimizer_class):
    variable = keras.Variable([0.1, 0.2, 0.3], name="kernel")
    inner = optimizer_class(0.1)
    optimizer = keras.optimizers.LossScaleOptimizer(inner)
    optimizer.apply([tf.constant([1.0, 2.0, 3.0])], [variable])
    before = [v.numpy() for v in [variable, *inner.variables]]
    optimizer.apply([tf.constant([1.0, np.inf, 3.0])], [variable])
    for array, v in zip(before, [variable, *inner.variables], strict=True):
        np.testing.assert_array_equal(array, v.numpy())
    assert optimizer.dynamic_scale.numpy() == 2.0**14
