"""Values that the settings of a run refuse."""

import pytest

from keras_bert.training.config import TrainConfig


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("learning_rate", 0.0, "above 0"),
        ("save_checkpoints_steps", 0, "above 0"),
        ("weight_decay_rate", -0.1, "at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(name, value, limit):
    with pytest.raises(ValueError, match=f"{name} is {value}, but .* {limit}"):
        TrainConfig(**{name: value})


def test_a_tpu_without_its_strategy_is_refused():
    with pytest.raises(ValueError, match="give the distribution_strategy tpu"):
        TrainConfig(tpu="local")


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(
        ValueError,
        match="optimizer is 'sgd', but must be one of adam_weight_decay, lamb",
    ):
        TrainConfig(optimizer="sgd")
