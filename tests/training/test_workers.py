"""What can be said of workers without any; see also test_training_model."""

import keras
import pytest
import tensorflow as tf

from keras_bert.training.run_files.checkpoint import restore_checkpoint
from keras_bert.training.workers import lost_worker_named, value_of_chief

ONE_DEVICE = tf.distribute.get_strategy()


def test_without_workers_nothing_changes():
    assert value_of_chief(ONE_DEVICE, 11) == 11
    error = tf.errors.UnavailableError(None, None, "no such file server")
    with (
        pytest.raises(tf.errors.UnavailableError),
        lost_worker_named(ONE_DEVICE),
    ):
        raise error


def test_a_worker_that_does_not_see_the_checkpoints(tmp_path):
    model = keras.Sequential([keras.layers.Dense(2)])
    (tmp_path / "step-00000006").mkdir()
    with pytest.raises(ValueError, match="step-00000008, but another worker"):
        restore_checkpoint(model, tmp_path, 8)
