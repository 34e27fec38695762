import pytest

from keras_bert.errors import InputError
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import get_strategy


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
