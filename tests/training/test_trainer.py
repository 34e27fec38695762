import csv
import dataclasses
import json
import os
import shutil
import signal

import keras
import numpy as np
import pytest
import safetensors
import tensorflow as tf
from absl import logging
from safetensors.numpy import load_file

from keras_bert.training import checkpoint, trainer
from keras_bert.training.adam_weight_decay import AdamWeightDecay
from keras_bert.training.config import TrainConfig
from keras_bert.training.intervals import EndsIntervals
from keras_bert.training.losses import cross_entropy
from keras_bert.training.trainer import train
from keras_bert.training.training_model import Objective

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


def _build_plain_model():
    model = _build_model()
    hidden = model.get_layer("hidden").output
    return keras.Model(
        model.input, {"logits": model.get_layer("logits")(hidden)}
    )


def _dataset():
    random = np.random.default_rng(4)
    x = random.normal(size=(20, 5)).astype("float32")
    y = (x.sum(1) > 0).astype("int32")
    dataset = tf.data.Dataset.from_tensor_slices(({"x": x}, {"logits": y}))
    return dataset


def _train(
    output_dir,
    steps,
    config=CONFIG,
    build_model=_build_model,
    train_batches=None,
):
    return train(
        build_model,
        train_batches or _dataset().shuffle(20, seed=1).repeat().batch(3).skip,
        _dataset().batch(4),
        objectives={
            "logits": Objective(cross_entropy, {}, {"doubled": _doubled})
        },
        count_work=_count_work,
        num_train_steps=steps,
        num_warmup_steps=1,
        strategy=tf.distribute.get_strategy(),
        config=config,
        output_dir=output_dir,
        sidecars={"note.txt": "kept"},
    )


def _count_work(features):
    rows = tf.cast(tf.shape(features["x"])[0], tf.float32)
    return {"sequences": rows, "tokens": 5 * rows, "flops": 700 * rows}


def _doubled(loss):
    return 2 * loss


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

    on_train_batch_end = EndsIntervals.on_train_batch_end

    def killed_at_step_5(self, batch, logs=None):
        on_train_batch_end(self, batch, logs)
        if self.step == 5:
            raise _Killed

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(EndsIntervals, "on_train_batch_end", killed_at_step_5)
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


def _events(folder):
    """Tag -> (step, value)s, in the order of the files."""
    found = {}
    for file in sorted(folder.iterdir()):
        for record in tf.data.TFRecordDataset(str(file)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                number = float(tf.make_ndarray(value.tensor))
                found.setdefault(value.tag, []).append((event.step, number))
    return found


def test_table_and_tensorboard_say_the_same_of_each_step_once(tmp_path):
    """Also of steps that are taken again, from an earlier checkpoint."""
    _train(tmp_path, 4)
    shutil.rmtree(tmp_path / "checkpoints" / "step-00000004")
    _train(tmp_path, 7)
    rows = _rows(tmp_path)
    assert [row["step"] for row in rows] == ["2", "4", "6", "7"]
    events = _events(tmp_path / "tensorboard" / "train")
    held_out = _events(tmp_path / "tensorboard" / "validation")
    events |= {f"val_{name}": points for name, points in held_out.items()}
    assert events.keys() == rows[0].keys()
    for name, points in events.items():
        assert [step for step, _ in points] == [2, 4, 6, 7]
        np.testing.assert_allclose(
            [value for _, value in points], [float(row[name]) for row in rows]
        )


@pytest.fixture
def logged(caplog):
    before = logging.get_verbosity()
    logging.set_verbosity(logging.INFO)
    yield caplog
    logging.set_verbosity(before)


def test_the_figures_of_a_row(tmp_path, monkeypatch, logged):
    monkeypatch.setattr(trainer, "measure_matmul_speed", lambda *_: 7e5)
    _train(tmp_path, 3)
    for row in _rows(tmp_path):
        row = {name: float(value) for name, value in row.items()}
        assert row["doubled"] == pytest.approx(2 * row["loss"])
        assert row["val_doubled"] == pytest.approx(2 * row["val_loss"])
        # 3 sequences a step: see `_count_work`.
        speed = row["sequences_per_second"]
        assert row["tokens_per_second"] == pytest.approx(5 * speed)
        assert row["flops_per_second"] == pytest.approx(700 * speed)
        assert row["utilization_of_matmul_speed"] == pytest.approx(speed / 1e3)
        assert 0 < 3 / speed < 60 * row["minutes"]
    assert "Trained to step 3 in" in logged.text


def test_the_data_are_asked_for_once_and_from_where_they_go_on(tmp_path):
    _train(tmp_path, 2)
    asked = []
    dataset = _dataset().repeat().batch(3)

    def train_batches(step):
        asked.append(step)
        return dataset.skip(step)

    _train(tmp_path, 5, train_batches=train_batches)
    assert asked == [2]


def test_a_finished_run_is_not_trained_again(tmp_path, logged):
    model, figures = _train(tmp_path, 4)
    again, same_figures = _train(tmp_path, 4)
    assert f"The run in {tmp_path} is finished, at step 4" in logged.text
    assert same_figures == figures
    for a, b in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert [int(float(row["step"])) for row in _rows(tmp_path)] == [2, 4]


def test_a_finished_run_without_its_table_says_its_step(tmp_path):
    _train(tmp_path, 2)
    (tmp_path / "history.csv").unlink()
    _, figures = _train(tmp_path, 2)
    assert figures == {"step": 2}


def test_the_loss_falls_on_ten_examples(tmp_path):
    _train(tmp_path, 60)
    losses = [float(row["val_loss"]) for row in _rows(tmp_path)]
    assert losses[-1] < losses[0] / 2


def test_another_model_or_optimizer_is_refused(tmp_path):
    _train(tmp_path, 2)

    def build_other_model():
        inputs = keras.Input((5,), name="x")
        outputs = keras.layers.Dense(2, name="logits")(inputs)
        return keras.Model({"x": inputs}, {"logits": outputs})

    with pytest.raises(ValueError, match="give an output_dir of its own"):
        _train(tmp_path, 4, build_model=build_other_model)
    lamb = dataclasses.replace(CONFIG, optimizer="lamb")
    with pytest.raises(ValueError, match="another model or optimizer"):
        _train(tmp_path, 4, lamb)


def test_what_a_run_goes_on_with_instead_is_said_once(tmp_path, caplog):
    _train(tmp_path, 2)
    file = tmp_path / "checkpoints/step-00000002/train_config.json"
    values = json.loads(file.read_text())
    del values["clip_norm"]  # as another version would have written it
    file.write_text(json.dumps(values | {"of_another_class": 1}))
    _train(tmp_path, 4)
    assert "goes on with" not in caplog.text
    changed = dataclasses.replace(CONFIG, learning_rate=0.01, random_seed=7)
    _train(tmp_path, 6, changed)
    (warning,) = [x for x in caplog.messages if "goes on with" in x]
    assert warning == (
        f"The run in {tmp_path} goes on with learning_rate 0.01 instead of "
        "0.05, random_seed 7 instead of 12345."
    )


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


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    _train(tmp_path, 4)

    def build_broken_model():
        model = _build_model()
        scale = keras.layers.Rescaling(float("nan"), name="scale")
        return keras.Model(
            model.input, {"logits": scale(model.output["logits"])}
        )

    with pytest.raises(ValueError, match="The loss is nan at step 5; the last"):
        _train(tmp_path, 8, build_model=build_broken_model)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert sorted(names) == ["step-00000002", "step-00000004"]


def _with_an_infinite_gradient(monkeypatch, at):
    """The loss of that step and the weights before it are finite."""
    apply = AdamWeightDecay.apply

    def apply_infinite(self, grads, trainable_variables=None):
        is_now = tf.equal(tf.cast(self.iterations, tf.int32), at - 1)
        factor = tf.where(is_now, np.inf, 1.0)
        grads = [gradient * factor for gradient in grads]
        return apply(self, grads, trainable_variables)

    monkeypatch.setattr(AdamWeightDecay, "apply", apply_infinite)


@pytest.mark.parametrize("num_train_steps", [4, 8])
def test_weights_that_are_no_numbers_are_not_saved(
    tmp_path, monkeypatch, num_train_steps
):
    """With the learning rate lowered, the same command goes on."""
    with monkeypatch.context() as patch:
        _with_an_infinite_gradient(patch, at=4)
        with pytest.raises(
            ValueError, match="hidden/kernel is not finite .* at step 4;"
        ):
            _train(tmp_path, num_train_steps)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert names == ["step-00000002"]
    _, figures = _train(tmp_path, num_train_steps)
    assert figures["step"] == num_train_steps
    assert np.isfinite(list(figures.values())).all()


def test_nor_are_they_after_sigterm(tmp_path, monkeypatch):
    _with_an_infinite_gradient(monkeypatch, at=3)
    on_train_batch_end = EndsIntervals.on_train_batch_end

    def terminated_at_step_3(self, batch, logs=None):
        on_train_batch_end(self, batch, logs)
        if self.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(
        EndsIntervals, "on_train_batch_end", terminated_at_step_3
    )
    with pytest.raises(
        ValueError, match="hidden/kernel is not finite .* at step 3;"
    ):
        _train(tmp_path, 8)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert names == ["step-00000002"]


def test_nor_are_weights_too_large_to_multiply(tmp_path):
    """They are finite, and so is the loss, which was taken before."""
    config = dataclasses.replace(
        CONFIG, learning_rate=1e37, save_checkpoints_steps=1
    )
    with pytest.raises(ValueError, match="hidden/.* too large at step 1;"):
        _train(tmp_path, 4, config)
    assert not (tmp_path / "checkpoints").exists()
    assert not (tmp_path / "history.csv").exists()


@pytest.fixture
def train_until_sigterm(monkeypatch):
    """As `_train`, but SIGTERM comes in a step, or in what follows it."""

    def run(step, *args, method="on_train_batch_end"):
        before = signal.getsignal(signal.SIGTERM)
        original = getattr(EndsIntervals, method)

        def terminated(self, *args, **kwargs):
            original(self, *args, **kwargs)
            if self.step == step:
                os.kill(os.getpid(), signal.SIGTERM)

        with monkeypatch.context() as patch, pytest.raises(SystemExit) as left:
            patch.setattr(EndsIntervals, method, terminated)
            _train(*args)
        assert left.value.code == 143
        assert signal.getsignal(signal.SIGTERM) == before

    return run


def test_sigterm_saves_the_step_and_leaves(
    tmp_path, train_until_sigterm, caplog
):
    whole, _ = _train(tmp_path / "whole", 7)
    train_until_sigterm(5, tmp_path / "left", 7)
    assert "Stopped by SIGTERM and saved at step 5" in caplog.text
    assert (tmp_path / "left/checkpoints/step-00000005/note.txt").is_file()
    resumed, _ = _train(tmp_path / "left", 7)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)


def test_intervals_end_where_they_would_have_without_sigterm(
    tmp_path, train_until_sigterm
):
    """Held out, their figures are the same too."""
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=4)
    _train(tmp_path / "whole", 11, config)
    train_until_sigterm(3, tmp_path / "left", 11, config)
    train_until_sigterm(6, tmp_path / "left", 11, config)
    _train(tmp_path / "left", 11, config)
    rows, expected = _rows(tmp_path / "left"), _rows(tmp_path / "whole")
    assert [row["step"] for row in expected] == ["4", "8", "11"]
    for name in ("step", "val_loss", "learning_rate"):
        assert [row[name] for row in rows] == [row[name] for row in expected]
    assert rows[2]["loss"] == expected[2]["loss"]


@pytest.mark.parametrize(
    ("step", "method"),
    [
        (2, "on_train_batch_end"),
        (4, "on_train_batch_end"),
        (4, "on_epoch_end"),
        (4, "on_train_end"),
    ],
)
def test_sigterm_where_an_interval_ends_loses_nothing(
    tmp_path, train_until_sigterm, step, method
):
    """In its last step, in what is done after it, and after all of that."""
    train_until_sigterm(step, tmp_path, 4, method=method)
    checkpoint = tmp_path / f"checkpoints/step-{step:08d}"
    assert (checkpoint / "note.txt").is_file()
    rows = _rows(tmp_path)
    assert [int(row["step"]) for row in rows] == [2, 4][: step // 2]
    assert all(row["val_loss"] for row in rows)


def test_what_stands_in_the_way_of_a_checkpoint_is_raised(
    tmp_path, monkeypatch
):
    def no_room(*args):
        raise safetensors.SafetensorError("No space left on device")

    _train(tmp_path, 2)
    with (
        monkeypatch.context() as patch,
        pytest.raises(
            OSError, match="Cannot write .*step-0000000.*No space left"
        ),
    ):
        patch.setattr(checkpoint.safetensors_numpy, "save_file", no_room)
        _train(tmp_path, 8)
    folder = tmp_path / "checkpoints"
    assert [p.name for p in folder.iterdir()] == ["step-00000002"]


@pytest.mark.parametrize("name", ["", "checkpoints", "tensorboard"])
def test_a_file_in_the_place_of_a_folder_is_named_at_the_start(tmp_path, name):
    file = tmp_path / "out" / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    with pytest.raises(OSError, match=f"{file} is no folder; give another"):
        _train(tmp_path / "out", 2)
    assert not list(tmp_path.glob("out/checkpoints/*"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gradient_accumulation_steps": 2}, "train_batch_size 3 cannot be sp"),
        ({"steps_per_execution": 4}, "4 does not divide 2 steps"),
    ],
)
def test_what_cannot_be_divided(tmp_path, changes, message):
    config = dataclasses.replace(CONFIG, **changes)
    with pytest.raises(ValueError, match=message):
        _train(tmp_path / "out", 8, config)
    assert not (tmp_path / "out").exists()


def test_what_is_left_cannot_be_divided(tmp_path):
    _train(tmp_path, 3)
    config = dataclasses.replace(CONFIG, steps_per_execution=2)
    with pytest.raises(ValueError, match="2 does not divide 3 steps"):
        _train(tmp_path, 6, config)


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"steps_per_execution": 2},
        {"gradient_accumulation_steps": 3, "jit_compile": "on"},
    ],
    ids=str,
)
def test_other_ways_to_compute_the_same(tmp_path, changes):
    plain, _ = _train(tmp_path / "plain", 4, build_model=_build_plain_model)
    model, figures = _train(
        tmp_path / "other",
        4,
        dataclasses.replace(CONFIG, **changes),
        build_model=_build_plain_model,
    )
    tolerance = {"bfloat16": 2e-2, "float16": 2e-3}.get(
        changes.get("precision"), 1e-6
    )
    for a, b in zip(plain.weights, model.weights, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=tolerance)
    assert keras.config.dtype_policy().name == "float32"
    dtypes = {layer.compute_dtype for layer in model.layers}
    assert changes.get("precision", "float32") in dtypes
    assert figures["step"] == 4
