import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.losses import MaskedLMLoss
from keras_bert.training.metrics import SparseAccuracy
from keras_bert.training.optimizer import AdamWeightDecay, WarmupLinearDecay


def _variables():
    random = np.random.default_rng(1)
    names = ("dense/kernel", "dense/bias", "x_layer_norm/gamma")
    variables = []
    for name, shape in zip(names, ((3, 5), (5,), (7,)), strict=True):
        variable = keras.Variable(random.normal(size=shape), name="v")
        variable._path = name
        variables.append(variable)
    return variables


def test_the_updates_of_the_reference():
    """Against the formula of google-research/bert, in float64."""
    variables = _variables()
    optimizer = AdamWeightDecay(0.03, weight_decay_rate=0.1)
    values = [v.numpy().astype("float64") for v in variables]
    m = [np.zeros_like(v) for v in values]
    v = [np.zeros_like(v) for v in values]
    random = np.random.default_rng(2)
    for _ in range(5):
        grads = [random.normal(size=x.shape) for x in values]
        optimizer.apply([tf.constant(g, tf.float32) for g in grads], variables)
        norm = np.sqrt(sum((g**2).sum() for g in grads))
        for i, grad in enumerate(grads):
            grad = grad * min(1.0, 1.0 / norm)
            m[i] = 0.9 * m[i] + 0.1 * grad
            v[i] = 0.999 * v[i] + 0.001 * grad**2
            update = m[i] / (np.sqrt(v[i]) + 1e-6)
            if i == 0:  # neither bias nor layer norm
                update = update + 0.1 * values[i]
            values[i] = values[i] - 0.03 * update
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_allclose(variable.numpy(), value, atol=1e-5)


def test_the_gradient_of_an_embedding_is_dense():
    tables = []
    for as_rows in (True, False):
        table = keras.Variable(np.ones((4, 3)), name="table")
        optimizer = AdamWeightDecay(0.1)
        for row in (1, 2):
            grad = tf.IndexedSlices(
                tf.constant([[0.1, 0.2, 0.3]] * 2), [row, row], (4, 3)
            )
            if not as_rows:
                grad = tf.convert_to_tensor(grad)
            optimizer.apply([grad], [table])
        tables.append(table.numpy())
    np.testing.assert_array_equal(*tables)
    # The moments of row 1 still move it in the second step.
    assert tables[0][1, 0] < tables[0][2, 0]


@pytest.mark.parametrize(
    ("updates_before", "rate"),
    # The decay counts from the first step: the 10th is not at the peak.
    [(0, 0.001), (3, 0.004), (8, 0.009), (9, 0.009), (54, 0.0045), (99, 0.0)],
)
def test_warm_up_and_decay(updates_before, rate):
    schedule = WarmupLinearDecay(0.01, 100, 10)
    assert float(schedule(updates_before)) == pytest.approx(rate, abs=1e-8)
    assert float(WarmupLinearDecay(0.01, 100, 0)(0)) == pytest.approx(0.0099)


def test_config_round_trip():
    optimizer = AdamWeightDecay(
        WarmupLinearDecay(0.01, 100, 10), weight_decay_rate=0.2
    )
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.weight_decay_rate == 0.2
    assert again.exclude_from_weight_decay == ("layer_norm", "bias")
    assert again.global_clipnorm == 1.0
    assert float(again._learning_rate(5)) == pytest.approx(0.006)


def test_masked_lm_loss_is_the_mean_over_masked_tokens():
    logits = np.random.default_rng(3).normal(size=(2, 5, 31)).astype("f")
    ids = np.arange(10).reshape(2, 5)
    weights = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], "f")
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = [log_probs[0, 0, 0], log_probs[0, 1, 1], log_probs[1, 0, 5]]
    loss = MaskedLMLoss()(ids, logits, weights)
    assert float(loss) == pytest.approx(-sum(chosen) / (3 + 1e-5), rel=1e-6)
    half = MaskedLMLoss()(ids, tf.cast(logits, tf.bfloat16), weights)
    assert half.dtype == "float32"
    assert float(MaskedLMLoss()(ids, logits, 0 * weights)) == 0.0


def test_accuracy_counts_by_weight():
    logits = np.zeros((2, 3, 4), "f")
    logits[0, 0, 2] = logits[0, 1, 1] = logits[1, 2, 3] = 1
    accuracy = SparseAccuracy()
    accuracy.update_state(
        np.array([[2, 0, 0], [3, 3, 3]]),
        logits,
        np.array([[1, 1, 0], [0, 0, 2]], "f"),
    )
    assert float(accuracy.result()) == pytest.approx(3 / 4)
