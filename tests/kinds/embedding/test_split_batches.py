"""The negatives of a batch are shared, however the batch is split."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import split_negatives
import tensorflow as tf
import two_workers

ONE_DEVICE = tf.distribute.get_strategy()
ROOT = str(Path(__file__).parent.parent.parent.parent)


@pytest.fixture(scope="module")
def whole():
    """The loss and the gradients of a gradient tape that sees all 64 rows."""
    features, labels = split_negatives.data()
    model = split_negatives.build_model()
    objective = split_negatives.objectives(dimensions="12,5")["embeddings"]
    weights = tf.ones([64, 3])
    with tf.GradientTape() as tape:
        outputs = model(features, training=True)["embeddings"]
        loss = objective.loss(labels["embeddings"], outputs, weights)
    variables = model.trainable_variables
    gradients = tape.gradient(loss, variables)
    return float(loss), {
        w.path: tf.convert_to_tensor(g).numpy()
        for w, g in zip(variables, gradients, strict=True)
    }


def _assert_equal(found, expected):
    assert found[0] == pytest.approx(expected[0], abs=1e-5)
    assert found[1].keys() == expected[1].keys()
    for path, gradient in expected[1].items():
        np.testing.assert_allclose(
            found[1][path], gradient, atol=1e-5, rtol=0, err_msg=path
        )


def test_the_gradient_is_not_small(whole):
    largest = {path: np.abs(g).max() for path, g in whole[1].items()}
    assert min(largest.values()) < 1e-3  # the bias of a key changes nothing
    assert sum(x > 0.01 for x in largest.values()) > 10


@pytest.mark.parametrize(
    "num_parts", [pytest.param(1, marks=pytest.mark.slow), 4]
)
def test_one_device(whole, num_parts):
    found = split_negatives.step(
        ONE_DEVICE, gradient_accumulation_steps=num_parts
    )
    _assert_equal(found, whole)


@pytest.mark.slow
@pytest.mark.parametrize("num_parts", [1, 4])
def test_two_devices(whole, mirrored, num_parts):
    found = split_negatives.step(
        mirrored, gradient_accumulation_steps=num_parts
    )
    _assert_equal(found, whole)


@pytest.mark.slow
def test_two_workers(whole, tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, split_negatives.__file__, tmp_path / f"{i}.npz"],
            env=environment | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/tests"},
            stderr=subprocess.PIPE,
        )
        for i, environment in enumerate(two_workers.environments())
    ]
    errors = [worker.communicate(timeout=300)[1] for worker in workers]
    for worker, error in zip(workers, errors, strict=True):
        assert worker.returncode == 0, error.decode()[-2000:]
    for i in range(2):
        gradients = dict(np.load(tmp_path / f"{i}.npz"))
        _assert_equal((gradients.pop("loss"), gradients), whole)
