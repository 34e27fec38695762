"""Every optimizer of TrainConfig: built, saved and loaded."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.training.config import TrainConfig
from keras_bert.training.optimizers.adam import AdamWeightDecay, Lamb
from keras_bert.training.optimizers.build import build_optimizer

CONFIG = TrainConfig(learning_rate=0.01, weight_decay_rate=0.2, clip_norm=0.7)
every = pytest.mark.parametrize("name", ["adam_weight_decay", "lamb", "adamw"])


def _build(name):
    config = dataclasses.replace(CONFIG, optimizer=name)
    return build_optimizer(config, num_train_steps=100, num_warmup_steps=10)


@every
def test_the_config_reaches_the_optimizer(name):
    optimizer = _build(name)
    expected = {
        "adam_weight_decay": "AdamWeightDecay",
        "lamb": "Lamb",
        "adamw": "AdamW",
    }
    assert type(optimizer).__name__ == expected[name]
    assert optimizer.weight_decay_rate == 0.2
    assert optimizer.global_clipnorm == 0.7
    assert float(optimizer.learning_rate) == pytest.approx(0.001)


@every
def test_biases_and_layer_norms_are_not_decayed(name, config):
    """For the updates of such variables see test_updates."""
    variables = build_pretraining_model(config).trainable_variables
    optimizer = _build(name)
    optimizer.build(variables)
    slots = optimizer._slots.values()
    undecayed = {x.variable.path for x in slots if x.is_excluded}
    assert undecayed == {
        v.path
        for v in variables
        if v.path.split("/")[-1] in ("bias", "gamma", "beta", "output_bias")
    }
    assert 0 < len(undecayed) < len(variables)


@pytest.mark.parametrize("optimizer_class", [AdamWeightDecay, Lamb])
def test_every_argument_is_saved(optimizer_class):
    arguments = {
        "learning_rate": 0.25,
        "weight_decay_rate": 0.2,
        "beta_1": 0.8,
        "beta_2": 0.99,
        "epsilon": 1e-5,
        "exclude_from_weight_decay": ("gamma",),
        "global_clipnorm": None,
        "learning_rate_factors": {"kernel": 0.5},
        "name": "mine",
    }
    config = optimizer_class(**arguments).get_config()
    assert arguments.items() <= config.items()
    assert optimizer_class.from_config(config).get_config() == config


@pytest.mark.parametrize("optimizer_class", [AdamWeightDecay, Lamb])
def test_exclusions_are_set_by_a_call_as_in_keras(optimizer_class):
    """They replace the patterns of the constructor and are saved."""
    names = ("kernel", "bias", "gamma")
    variables = [keras.Variable(np.ones(3), name=name) for name in names]
    zeros = [np.zeros(3, "float32")] * 3

    def undecayed(optimizer):
        for variable in variables:
            variable.assign(np.ones(3))
        optimizer.apply(zeros, variables)
        return [v.name for v in variables if (v.numpy() == 1).all()]

    optimizer = optimizer_class(0.1)
    optimizer.exclude_from_weight_decay("gam")  # not as three letters
    assert optimizer.get_config()["exclude_from_weight_decay"] == ("gam",)
    optimizer.exclude_from_weight_decay(["gam", "beta"])
    again = optimizer_class.from_config(optimizer.get_config())
    assert undecayed(optimizer) == undecayed(again) == ["gamma"]
    assert undecayed(optimizer_class(0.1)) == ["bias"]
    with pytest.raises(ValueError, match="before the optimizer is built"):
        optimizer.exclude_from_weight_decay(["bias"])


@pytest.mark.parametrize("option", ["clipnorm", "clipvalue", "use_ema"])
def test_an_option_that_would_be_ignored_is_refused(option):
    with pytest.raises(ValueError, match=f"Lamb does not have {option}; use"):
        Lamb(**{"global_clipnorm": None, option: 2})


@every
def test_a_saved_model_resumes_bit_equal(name, tmp_path):
    x = np.random.default_rng(1).normal(size=(8, 5)).astype("f")
    inputs = keras.Input((5,))
    outputs = keras.layers.Dense(3, name="logits")(inputs)
    model = keras.Model(inputs, outputs)
    model.compile(_build(name), "mse", jit_compile=False)
    model.fit(x, x[:, :3], verbose=0, epochs=3)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.optimizer.iterations.numpy() == 3
    for m in (model, again):
        m.fit(x, x[:, :3], verbose=0, epochs=2)
    for a, b in zip(
        model.weights + model.optimizer.variables,
        again.weights + again.optimizer.variables,
        strict=True,
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
