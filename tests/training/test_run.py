"""A run: its files, its rows of metrics, its log, and what it refuses."""

import dataclasses
import gc
import json
import re
import shutil
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import safetensors
import small_run
import tensorflow as tf
from safetensors.numpy import load_file
from small_run import (
    CONFIG,
    build_plain_model,
    history_rows,
    small_dataset,
    train_small,
)

from keras_bert import progress
from keras_bert.errors import InputError
from keras_bert.layers.activations import for_training, get_activation
from keras_bert.training import checkpoint, run
from keras_bert.training.best import Selection
from keras_bert.training.steps import Steps


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    """A run of 7 steps: its folder, its model, its figures, and its traces."""
    folder = tmp_path_factory.mktemp("seven")
    traced = []
    count_work = small_run._count_work

    def count(features):
        traced.append(features["x"])
        return count_work(features)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_run, "_count_work", count)
        model, figures = train_small(folder, 7)
    return SimpleNamespace(
        folder=folder, model=model, figures=figures, traced=traced
    )


def test_the_files_of_a_run(seven):
    tmp_path, model, figures = seven.folder, seven.model, seven.figures
    rows = history_rows(tmp_path)
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [bool(row["val_loss"]) for row in rows] == [0, 1, 0, 1, 0, 1, 1]
    assert figures["step"] == 7 and figures["val_loss"] > 0
    folder = tmp_path / "checkpoints"
    assert sorted(p.name for p in folder.iterdir()) == [
        "step-00000006",
        "step-00000007",
    ]
    last = folder / "step-00000007"
    assert sorted(p.name for p in last.iterdir()) == [
        "checksums.json",
        "fingerprint.json",
        "model.safetensors",
        "note.txt",
        "train_config.json",
        "training_state.safetensors",
    ]
    arrays = load_file(last / "model.safetensors")
    assert arrays.keys() == {weight.path for weight in model.weights}


def _events(folder):
    """Returns the (step, value) pairs of each tag, in file order."""
    found = {}
    for file in sorted(folder.iterdir()):
        for record in tf.data.TFRecordDataset(str(file)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                number = float(tf.make_ndarray(value.tensor))
                found.setdefault(value.tag, []).append((event.step, number))
    return found


def test_table_and_tensorboard_hold_the_same_figures_once(tmp_path):
    """Steps that are taken again, from an earlier checkpoint, too."""
    train_small(tmp_path, 4)
    shutil.rmtree(tmp_path / "checkpoints" / "step-00000004")
    train_small(tmp_path, 7)
    rows = history_rows(tmp_path)
    assert [row["step"] for row in rows] == list("1234567")
    events = _events(tmp_path / "tensorboard" / "train")
    held_out = _events(tmp_path / "tensorboard" / "validation")
    events |= {f"val_{name}": points for name, points in held_out.items()}
    assert events.keys() == rows[0].keys()
    for name, points in events.items():
        steps = [int(row["step"]) for row in rows if row[name]]
        in_every_row = name in ("step", "loss", "doubled", "learning_rate")
        assert steps == (
            [1, 2, 3, 4, 5, 6, 7] if in_every_row else [2, 4, 6, 7]
        )
        assert [step for step, _ in points] == steps
        np.testing.assert_allclose(
            [value for _, value in points],
            [float(row[name]) for row in rows if row[name]],
        )


def test_a_row_holds_the_means_of_its_steps(tmp_path, monkeypatch):
    """A run of any length has at least `_NUM_ROWS` rows."""
    assert run._NUM_ROWS == 100
    monkeypatch.setattr(run, "_NUM_ROWS", 10)
    calls, distribute = [], run.distribute
    monkeypatch.setattr(
        run, "distribute", lambda *x: calls.append(x) or distribute(*x)
    )
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=17)
    train_small(tmp_path / "long", 20, config)
    assert len(calls) == 2  # training data and held-out data, once each
    steps = [int(row["step"]) for row in history_rows(tmp_path / "long")]
    assert steps == sorted({*range(2, 21, 2), 17})
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=1)
    train_small(tmp_path / "short", 3, config)
    losses = [float(row["loss"]) for row in history_rows(tmp_path / "short")]
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=3)
    monkeypatch.setattr(run, "_NUM_ROWS", 1)
    train_small(tmp_path / "one", 3, config)
    (row,) = history_rows(tmp_path / "one")
    assert float(row["loss"]) == pytest.approx(np.mean(losses))


def test_the_figures_of_a_row(seven):
    rows = history_rows(seven.folder)
    # The rate decays to 0 in the last step.
    rates = [float(row["learning_rate"]) for row in rows]
    expected = [0.05 * (7 - step) / 7 for step in range(1, 8)]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)
    for row in rows[1::2]:
        row = {name: float(value) for name, value in row.items()}
        assert row["doubled"] == pytest.approx(2 * row["loss"])
        assert row["val_doubled"] == pytest.approx(2 * row["val_loss"])
        # 3 sequences a step: see `_count_work`.
        speed = row["sequences_per_second"]
        assert row["tokens_per_second"] == pytest.approx(5 * speed)
        assert row["flops_per_second"] == pytest.approx(700 * speed)
        assert 0 < 3 / speed < 60 * row["minutes"]


def test_times_and_speeds(tmp_path, monkeypatch):
    """With a clock of our own: 2 seconds a step and 44 an evaluation."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(run.time, "monotonic", lambda: clock.now)

    def takes(seconds, method):
        def call(self, *args):
            clock.now += seconds
            return method(self, *args)

        return call

    monkeypatch.setattr(Steps, "train", takes(2, Steps.train))
    monkeypatch.setattr(Steps, "evaluate", takes(44, Steps.evaluate))
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=3)
    train_small(tmp_path, 3, config)
    _, figures = train_small(tmp_path, 5, config)
    # 5 steps and 2 evaluations; the time between the runs does not count.
    assert figures["minutes"] == pytest.approx((5 * 2 + 2 * 44) / 60)
    assert figures["sequences_per_second"] == 1.5  # without evaluation


def test_the_log_shows_the_progress_of_steps_and_held_out_batches(
    tmp_path, monkeypatch, logged
):
    """A line at least every 30 seconds; here after every update."""
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    train_small(tmp_path, 2)
    train_small(tmp_path, 3)
    lines = [x for x in logged.messages if x.startswith("Training: ")]
    for line, step, total in zip(lines, (1, 2, 3), (2, 2, 3), strict=True):
        assert line.startswith(f"Training: {step} of {total} steps, loss 0.")
        # The first step of a run is traced, so it tells no speed.
        speed = re.search(r" steps/s, \d\d:\d\d left$", line)
        assert bool(speed) == (step == 2)
    assert any(
        x.startswith("Evaluating: 5 of 5 batches") for x in logged.messages
    )
    row = history_rows(tmp_path)[1]
    (line,) = [x for x in logged.messages if x.startswith("Step 2 of 2: ")]
    assert f"training loss {float(row['loss']):.4g}; held out: " in line
    assert f"held out: loss {float(row['val_loss']):.4g}, doubled" in line


def test_a_run_too_short_for_its_learning_rate_is_warned_of(tmp_path, caplog):
    """The rate of the last step is 0: a single step trains nothing."""
    train_small(tmp_path, 1)
    assert "a run of one step trains nothing" in caplog.text
    caplog.clear()
    train_small(tmp_path, 2, num_warmup_steps=2)
    assert "warm-up" not in caplog.text
    train_small(tmp_path, 3, num_warmup_steps=5)
    assert "The warm-up takes 5 steps and the run has 3, so the" in caplog.text


def test_the_step_is_traced_once(seven):
    assert len(seven.traced) == 1


@pytest.mark.slow
def test_a_run_leaves_no_graph_and_so_no_weights_behind(tmp_path):
    def build_model():
        inputs = keras.Input((5,), name="x")
        gelu = for_training(get_activation("gelu"))
        x = keras.layers.Dense(7, activation=gelu)(inputs)
        outputs = keras.layers.Dense(2, name="logits")(x)
        return keras.Model({"x": inputs}, {"logits": outputs})

    def count_graphs():
        gc.collect()
        return sum(issubclass(type(x), tf.Graph) for x in gc.get_objects())

    # What the first run leaves are the traces that all runs share.
    train_small(tmp_path / "a", 2, build_model=build_model)
    before = count_graphs()
    train_small(tmp_path / "b", 2, build_model=build_model)
    assert count_graphs() == before


def test_a_finished_run_is_not_trained_again(seven, tmp_path, caplog):
    folder = tmp_path / "seven"
    shutil.copytree(seven.folder, folder)
    again, figures = train_small(folder, 7)
    assert f"The run in {folder} already finished" in caplog.text
    assert figures == seven.figures
    for a, b in zip(seven.model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert len(history_rows(folder)) == 7
    (folder / "history.csv").unlink()
    assert train_small(folder, 7)[1] == {"step": 7}


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    refused = []

    def start_another_run(epoch, logs):
        with pytest.raises(InputError, match="process is training in .*; wait"):
            train_small(tmp_path, 7)
        refused.append(epoch)

    callback = keras.callbacks.LambdaCallback(on_epoch_end=start_another_run)
    model, figures = train_small(tmp_path, 4, callbacks=[callback])
    assert refused and figures["step"] == 4
    assert train_small(tmp_path, 4)[1] == figures


def test_another_model_or_optimizer_is_refused(tmp_path):
    train_small(tmp_path, 2)

    def build_other_model():
        inputs = keras.Input((5,), name="x")
        outputs = keras.layers.Dense(2, name="logits")(inputs)
        return keras.Model({"x": inputs}, {"logits": outputs})

    with pytest.raises(ValueError, match="give this run an output_dir of its"):
        train_small(tmp_path, 4, build_model=build_other_model)
    lamb = dataclasses.replace(CONFIG, optimizer="lamb")
    with pytest.raises(ValueError, match="optimizer 'adam_weight_decay' inst"):
        train_small(tmp_path, 4, lamb)


def test_another_run_does_not_continue_this_one(tmp_path):
    """Whether it is finished or not; nothing is changed."""
    train_small(tmp_path, 4, digests={"rows": "a", "weights": "w"})
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    changed = dataclasses.replace(CONFIG, learning_rate=0.01, random_seed=7)
    digests = {"rows": "b", "weights": "w"}
    for num_steps in (4, 6):
        with pytest.raises(InputError) as error:
            train_small(tmp_path, num_steps, changed, digests=digests)
        assert str(error.value) == (
            f"The run in {tmp_path} was started with learning_rate 0.05 "
            "instead of 0.01, random_seed 12345 instead of 7, other rows. To "
            "resume that run, use its values again. To start a new run, give "
            "another output_dir, or give overwrite_output_dir."
        )
    for path, content in before.items():
        assert path.read_bytes() == content, path


def test_what_only_decides_how_to_compute_may_change(tmp_path):
    """The data are asked for once, after the steps that were taken."""
    train_small(tmp_path, 2)
    asked = []
    dataset = small_dataset().repeat().batch(3)

    def train_batches(step, share):
        asked.append(step)
        return dataset.skip(step)

    changed = dataclasses.replace(
        CONFIG,
        save_checkpoints_steps=4,
        keep_checkpoint_max=1,
        steps_per_execution=2,
        eval_batch_size=3,
    )
    _, figures = train_small(tmp_path, 4, changed, train_batches=train_batches)
    assert figures["step"] == 4 and asked == [2]


def test_the_best_of_a_run_without_checkpoints(tmp_path):
    """The same run makes it again; another run does not take it as its own."""
    scores = [0.9, 0.9, 0.2, 0.2]
    selection = Selection(lambda model: {"f1": scores.pop(0)}, "f1")
    train_small(tmp_path, 4, selection=selection)
    shutil.rmtree(tmp_path / "checkpoints")
    other = dataclasses.replace(CONFIG, learning_rate=0.01)
    with pytest.raises(InputError, match="was started with learning_rate 0.05"):
        train_small(tmp_path, 4, other, selection=selection)
    assert (tmp_path / "best/score.json").is_file()
    train_small(tmp_path, 4, selection=selection)
    score = json.loads((tmp_path / "best/score.json").read_text())
    assert score == {"step": 2, "score": 0.2, "since": 2}


def test_a_checkpoint_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    def no_room(*args):
        raise safetensors.SafetensorError("No space left on device")

    train_small(tmp_path, 2)
    with (
        monkeypatch.context() as patch,
        pytest.raises(
            OSError, match="Cannot write .*step-0000000.*No space left"
        ),
    ):
        patch.setattr(checkpoint.safetensors_numpy, "save_file", no_room)
        train_small(tmp_path, 8)
    folder = tmp_path / "checkpoints"
    assert [p.name for p in folder.iterdir()] == ["step-00000002"]


def test_steps_or_rows_that_cannot_be_divided(tmp_path, seven):
    left_over = tmp_path / "seven"  # has taken 7 steps
    shutil.copytree(seven.folder, left_over)
    for folder, steps, changes, message in (
        (tmp_path / "out", 8, {"gradient_accumulation_steps": 2}, "size 3 ca"),
        (
            tmp_path / "out",
            8,
            {"steps_per_execution": 4},
            "4 does not divide 2",
        ),
        (left_over, 10, {"steps_per_execution": 2}, "2 does not divide 3 step"),
    ):
        config = dataclasses.replace(CONFIG, **changes)
        with pytest.raises(ValueError, match=message):
            train_small(folder, steps, config)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The model after 4 steps without dropout."""
    folder = tmp_path_factory.mktemp("plain")
    return train_small(folder, 4, build_model=build_plain_model)[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"gradient_accumulation_steps": 3, "jit_compile": "on"},
    ],
    ids=str,
)
def test_other_settings_compute_the_same(plain, tmp_path, changes):
    model, figures = train_small(
        tmp_path,
        4,
        dataclasses.replace(CONFIG, **changes),
        build_model=build_plain_model,
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
