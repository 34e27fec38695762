"""Tests without workers; see also test_steps."""

import pytest
import tensorflow as tf

from keras_bert.training.checkpoint import checkpoint_of_step
from keras_bert.training.distribution import (
    lost_worker_named,
    value_of_chief,
)

ONE_DEVICE = tf.distribute.get_strategy()


def test_one_device_keeps_its_value_and_its_errors():
    assert value_of_chief(ONE_DEVICE, 11) == 11
    error = tf.errors.UnavailableError(None, None, "no such file server")
    with (
        pytest.raises(tf.errors.UnavailableError),
        lost_worker_named(ONE_DEVICE),
    ):
        raise error


def test_a_worker_without_the_checkpoints_is_an_error(tmp_path):
    (tmp_path / "step-00000006").mkdir()
    with pytest.raises(ValueError, match="step-00000008, but another worker"):
        checkpoint_of_step(tmp_path, 8)
