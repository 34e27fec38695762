"""Strategies: what is wrong with a TPU or a cluster, and several runs.

For workers see test_steps.
"""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.training.checkpoint import checkpoint_of_step
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import (
    get_strategy,
    lost_worker_named,
    sum_over_replicas,
    value_of_chief,
)


def test_a_missing_tpu_is_named():
    with pytest.raises(
        ValueError, match="There is no TPU at 'local'; .* TensorFlow says: \\S"
    ):
        get_strategy(TrainConfig(distribution_strategy="tpu", tpu="local"))


@pytest.mark.parametrize(
    "tf_config",
    [
        '{"cluster": ',
        '{"cluster": {"worker": ["localhost:1"]}}',
        '{"cluster": {"worker": 7}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["localhost:1"]}, '
        '"task": {"type": "worker", "index": 3}}',
    ],
)
def test_a_wrong_tf_config_is_named(monkeypatch, tf_config):
    monkeypatch.setenv("TF_CONFIG", tf_config)
    with pytest.raises(
        InputError, match="TF_CONFIG does not .* TensorFlow says: \\S"
    ):
        get_strategy(TrainConfig(distribution_strategy="multi_worker_mirrored"))


def test_two_mirrored_runs_of_a_process_sum_other_shapes():
    """Two strategies would take the sums of one for those of the other."""
    for size in (3, 4):
        strategy = get_strategy(TrainConfig(distribution_strategy="mirrored"))

        @tf.function
        def total(size=size, strategy=strategy):
            return strategy.run(lambda: sum_over_replicas(tf.ones(size)))

        np.testing.assert_array_equal(
            strategy.experimental_local_results(total())[1], [2.0] * size
        )


def test_one_device_keeps_its_value_and_its_errors():
    one_device = tf.distribute.get_strategy()
    assert value_of_chief(one_device, 11) == 11
    error = tf.errors.UnavailableError(None, None, "no such file server")
    with (
        pytest.raises(tf.errors.UnavailableError),
        lost_worker_named(one_device),
    ):
        raise error


def test_a_worker_without_the_checkpoints_is_an_error(tmp_path):
    (tmp_path / "step-00000006").mkdir()
    with pytest.raises(ValueError, match="step-00000008, but another worker"):
        checkpoint_of_step(tmp_path, 8)
