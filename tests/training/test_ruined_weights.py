"""A loss or weights that are not finite end the run; nothing is saved."""

import dataclasses
import os
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_run import (
    CONFIG,
    build_small_model,
    small_dataset,
    train_small,
)

from keras_bert.training import run
from keras_bert.training.optimizers.adam import AdamWeightDecay
from keras_bert.training.steps import Steps


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    train_small(tmp_path, 4)

    def build_broken_model():
        model = build_small_model()
        scale = keras.layers.Rescaling(float("nan"), name="scale")
        return keras.Model(
            model.input, {"logits": scale(model.output["logits"])}
        )

    with pytest.raises(ValueError, match="The loss is not finite at step 5;"):
        train_small(tmp_path, 8, build_model=build_broken_model)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert sorted(names) == ["step-00000002", "step-00000004"]


def test_the_first_step_with_a_wrong_loss_is_named(tmp_path, monkeypatch):
    """The figures of step 5 are not looked at before step 30."""
    config = dataclasses.replace(
        CONFIG, save_checkpoints_steps=30, steps_per_execution=3
    )

    def train_batches(step, share):
        data = small_dataset().batch(3, drop_remainder=True).repeat()
        ruined = data.skip(4).map(
            lambda x, y: ({"x": x["x"] * float("inf")}, y)
        )
        return data.take(4).concatenate(ruined)

    monkeypatch.setattr(run, "_NUM_ROWS", 1)
    with pytest.raises(ValueError, match="The loss is not finite at step 5;"):
        train_small(tmp_path, 30, config, train_batches=train_batches)
    assert not (tmp_path / "checkpoints/step-00000030").exists()


def _with_an_infinite_gradient(monkeypatch, at):
    """Makes the gradient of one step infinite, but not its loss."""
    apply = AdamWeightDecay.apply

    def apply_infinite(self, grads, trainable_variables=None):
        is_now = tf.equal(tf.cast(self.iterations, tf.int32), at - 1)
        factor = tf.where(is_now, np.inf, 1.0)
        grads = [gradient * factor for gradient in grads]
        return apply(self, grads, trainable_variables)

    monkeypatch.setattr(AdamWeightDecay, "apply", apply_infinite)


def test_weights_that_are_not_finite_are_not_saved(tmp_path, monkeypatch):
    """Even after the last step; the same command resumes from step 2."""
    with monkeypatch.context() as patch:
        _with_an_infinite_gradient(patch, at=4)
        with pytest.raises(
            ValueError, match="hidden/kernel is not finite .* at step 4;"
        ):
            train_small(tmp_path, 4)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert names == ["step-00000002"]
    _, figures = train_small(tmp_path, 4)
    assert figures["step"] == 4
    assert np.isfinite(list(figures.values())).all()


def test_weights_are_checked_after_sigterm(tmp_path, monkeypatch):
    _with_an_infinite_gradient(monkeypatch, at=3)
    train = Steps.train

    def terminated_at_step_3(self, batches):
        if self.optimizer.iterations == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return train(self, batches)

    monkeypatch.setattr(Steps, "train", terminated_at_step_3)
    with pytest.raises(
        ValueError, match="hidden/kernel is not finite .* at step 3;"
    ):
        train_small(tmp_path, 8)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert names == ["step-00000002"]


def test_weights_too_large_to_multiply_are_not_saved(tmp_path):
    """They are finite, and so is the loss, which was computed before."""
    config = dataclasses.replace(
        CONFIG, learning_rate=1e37, save_checkpoints_steps=1
    )
    with pytest.raises(ValueError, match="hidden/.* too large at step 1;"):
        train_small(tmp_path, 4, config)
    assert not (tmp_path / "checkpoints").exists()
    assert not (tmp_path / "history.csv").exists()
