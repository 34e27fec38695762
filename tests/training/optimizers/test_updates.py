"""The updates of the optimizers, compared with formulas in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.optimizers.adam import AdamW, AdamWeightDecay, Lamb

SHAPES = {
    "dense/kernel": (3, 5),
    "dense/bias": (5,),
    "x_layer_norm/gamma": (7,),
    "zeros/kernel": (2, 4),
}
FACTORS = {"zeros": 2.0, "dense/": 0.25, "kernel": 8.0}  # the first counts
EXCLUDED = ("dense/bias", "x_layer_norm/gamma")


def _adam_weight_decay(p, m, v, step, decay):
    return m / (np.sqrt(v) + 1e-6) + decay * p


def _lamb(p, m, v, step, decay):
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.999**step)
    update = m_hat / (np.sqrt(v_hat) + 1e-6) + decay * p
    p_norm, update_norm = np.sqrt((p**2).sum()), np.sqrt((update**2).sum())
    if decay and p_norm and update_norm:
        update = update * p_norm / update_norm
    return update


@pytest.mark.parametrize(
    ("dtype", "atol"), [("float64", 1e-12), ("float32", 2e-6)]
)
@pytest.mark.parametrize(
    ("optimizer_class", "formula"),
    [(AdamWeightDecay, _adam_weight_decay), (Lamb, _lamb)],
)
@pytest.mark.parametrize("factors", [{}, FACTORS], ids=["", "factors"])
def test_five_updates(optimizer_class, formula, dtype, atol, factors):
    random = np.random.default_rng(1)
    variables, values = [], {}
    for path, shape in SHAPES.items():
        values[path] = random.normal(size=shape) * (path != "zeros/kernel")
        variable = keras.Variable(values[path], dtype=dtype, name="v")
        variable._path = path
        variables.append(variable)
    m = {path: 0.0 for path in SHAPES}
    v = {path: 0.0 for path in SHAPES}
    optimizer = optimizer_class(
        1 / 32, weight_decay_rate=0.1, learning_rate_factors=factors
    )
    rates = dict.fromkeys(SHAPES, 1 / 32)
    if factors:
        rates["zeros/kernel"] = 2 / 32
        rates["dense/kernel"] = rates["dense/bias"] = 0.25 / 32
    for step in range(1, 6):
        # The norm is above 1 in the first steps, below it later.
        size = 1.0 if step < 4 else 0.05
        grads = {k: random.normal(0, size, s) for k, s in SHAPES.items()}
        optimizer.apply([tf.cast(g, dtype) for g in grads.values()], variables)
        norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
        assert (norm > 1) == (step < 4)
        for path, grad in grads.items():
            grad = grad / max(norm, 1.0)
            m[path] = 0.9 * m[path] + 0.1 * grad
            v[path] = 0.999 * v[path] + 0.001 * grad**2
            decay = 0.0 if path in EXCLUDED else 0.1
            values[path] = values[path] - rates[path] * formula(
                values[path], m[path], v[path], step, decay
            )
    for variable in variables:
        np.testing.assert_allclose(
            variable.numpy(), values[variable.path], atol=atol, rtol=0
        )


@pytest.mark.parametrize("factors", [{}, {"kernel": 0.25}])
def test_adamw_is_that_of_keras(factors):
    """A factor is the same as another rate for all variables."""
    optimizers = [
        AdamW(
            1 / 32,
            weight_decay_rate=0.1,
            epsilon=1e-7,
            learning_rate_factors=factors,
        ),
        keras.optimizers.AdamW(
            0.25 / 32 if factors else 1 / 32,
            weight_decay=0.1,
            global_clipnorm=1.0,
        ),
    ]
    values = []
    for optimizer in optimizers:
        random = np.random.default_rng(1)
        values_before = random.normal(size=(3, 5)).astype("float32")
        variable = keras.Variable(values_before, name="kernel")
        for _ in range(5):
            gradient = random.normal(size=(3, 5)).astype("float32")
            optimizer.apply([tf.constant(gradient)], [variable])
        values.append(variable.numpy())
    np.testing.assert_array_equal(*values)


def test_the_trust_ratio_is_1_for_a_direction_of_0():
    """There is no division by 0, and the variable stays as it is."""
    variable = keras.Variable([1.0, -2.0], name="kernel")
    Lamb(0.1, weight_decay_rate=0.0).apply([tf.zeros(2)], [variable])
    np.testing.assert_array_equal(variable.numpy(), [1.0, -2.0])


@pytest.mark.parametrize("optimizer_class", [AdamWeightDecay, Lamb, AdamW])
def test_the_gradient_of_an_embedding_is_dense(optimizer_class):
    tables = []
    for as_rows in (True, False):
        table = keras.Variable(np.ones((4, 3)), name="table")
        optimizer = optimizer_class(0.1, epsilon=1.0, global_clipnorm=1.0)
        for row in (1, 2):
            # The norm is that of the sum of a row that is listed twice.
            grad = tf.IndexedSlices(
                tf.constant([[0.3, 0.6, 0.9]] * 2), [row, row], (4, 3)
            )
            if not as_rows:
                grad = tf.convert_to_tensor(grad)
            optimizer.apply([grad], [table])
        tables.append(table.numpy())
    np.testing.assert_array_equal(*tables)
    # The moments of row 1 still move it in the second step.
    assert tables[0][1, 0] < tables[0][3, 0]


@pytest.mark.parametrize("optimizer_class", [AdamWeightDecay, Lamb])
def test_no_clipping_and_gradients_that_are_not_finite(optimizer_class):
    def updated(grad, **kwargs):
        variable = keras.Variable([0.5, -0.5], name="kernel")
        optimizer = optimizer_class(0.1, epsilon=1.0, **kwargs)
        optimizer.apply([tf.constant(grad)], [variable])
        return variable.numpy()

    whole = updated([6.0, 8.0], global_clipnorm=None)
    clipped = updated([0.6, 0.8], global_clipnorm=None)
    assert np.abs(whole - clipped).min() > 1e-3
    np.testing.assert_allclose(updated([6.0, 8.0]), clipped)
    assert np.isnan(updated([np.inf, 8.0])).all()
