import csv
import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from keras_bert.training import trainer
from keras_bert.training.config import TrainConfig
from keras_bert.training.trainer import train

CONFIG = TrainConfig(
    learning_rate=0.05,
    train_batch_size=3,
    save_checkpoints_steps=2,
    keep_checkpoint_max=2,
)


def _build_model():
    """Dropout too: its random numbers must go on where they stopped."""
    inputs = keras.Input((5,), name="x")
    x = keras.layers.Dense(7, activation="relu", name="hidden")(inputs)
    x = keras.layers.Dropout(0.3, name="dropout")(x)
    outputs = keras.layers.Dense(2, name="logits")(x)
    return keras.Model({"x": inputs}, {"logits": outputs})


def _dataset():
    random = np.random.default_rng(4)
    x = random.normal(size=(20, 5)).astype("float32")
    y = (x.sum(1) > 0).astype("int32")
    dataset = tf.data.Dataset.from_tensor_slices(({"x": x}, {"logits": y}))
    return dataset


def _train(output_dir, steps, config=CONFIG, build_model=_build_model):
    return train(
        build_model,
        _dataset().shuffle(20, seed=1).repeat().batch(3),
        _dataset().batch(4),
        loss={
            "logits": keras.losses.SparseCategoricalCrossentropy(
                from_logits=True
            )
        },
        weighted_metrics={"logits": []},
        num_train_steps=steps,
        num_warmup_steps=1,
        config=config,
        output_dir=output_dir,
        sidecars={"note.txt": "kept"},
    )


def _rows(output_dir):
    with (output_dir / "history.csv").open(newline="") as file:
        return list(csv.DictReader(file))


class _Killed(Exception):
    pass


@pytest.mark.parametrize("optimizer", ["adam_weight_decay", "lamb", "adamw"])
def test_interrupted_and_resumed_equals_uninterrupted(
    tmp_path, monkeypatch, optimizer
):
    config = dataclasses.replace(CONFIG, optimizer=optimizer)
    whole, _ = _train(tmp_path / "whole", 7, config)

    on_train_batch_end = trainer._SaveAndLog.on_train_batch_end

    def killed_at_step_5(self, batch, logs=None):
        on_train_batch_end(self, batch, logs)
        if self._step == 5:
            raise _Killed

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(
            trainer._SaveAndLog, "on_train_batch_end", killed_at_step_5
        )
        _train(tmp_path / "killed", 7, config)
    resumed, _ = _train(tmp_path / "killed", 7, config)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    for name in ("step", "loss", "val_loss", "learning_rate"):
        assert [float(row[name]) for row in _rows(tmp_path / "whole")] == [
            float(row[name]) for row in _rows(tmp_path / "killed")
        ]


def test_what_a_run_leaves_behind(tmp_path):
    model, figures = _train(tmp_path, 7)
    assert [int(row["step"]) for row in _rows(tmp_path)] == [2, 4, 6, 7]
    assert figures["step"] == 7 and figures["val_loss"] > 0
    folder = tmp_path / "checkpoints"
    assert sorted(p.name for p in folder.iterdir()) == [
        "step-00000006",
        "step-00000007",
    ]
    last = folder / "step-00000007"
    assert sorted(p.name for p in last.iterdir()) == [
        "model.safetensors",
        "note.txt",
        "train_config.json",
        "training_state.safetensors",
    ]
    arrays = load_file(last / "model.safetensors")
    assert arrays.keys() == {weight.path for weight in model.weights}
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "tensorboard" / "train").iterdir())


def test_a_finished_run_is_not_trained_again(tmp_path):
    model, figures = _train(tmp_path, 4)
    again, same_figures = _train(tmp_path, 4)
    assert same_figures == figures
    for a, b in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert [int(float(row["step"])) for row in _rows(tmp_path)] == [2, 4]


def test_the_loss_falls_on_ten_examples(tmp_path):
    _train(tmp_path, 60)
    losses = [float(row["val_loss"]) for row in _rows(tmp_path)]
    assert losses[-1] < losses[0] / 2


def test_another_model_is_refused(tmp_path):
    _train(tmp_path, 2)

    def build_other_model():
        inputs = keras.Input((5,), name="x")
        outputs = keras.layers.Dense(2, name="logits")(inputs)
        return keras.Model({"x": inputs}, {"logits": outputs})

    with pytest.raises(ValueError, match="give an output_dir of its own"):
        _train(tmp_path, 4, build_model=build_other_model)


def test_a_half_written_checkpoint_is_not_taken(tmp_path):
    _train(tmp_path, 4)
    partial = tmp_path / "checkpoints" / ".step-00000006.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    assert _train(tmp_path, 4)[1]["step"] == 4
    _train(tmp_path, 6)
    assert not partial.exists()


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


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(
        ValueError,
        match="optimizer is 'sgd', but must be one of adam_weight_decay, lamb",
    ):
        TrainConfig(optimizer="sgd")
