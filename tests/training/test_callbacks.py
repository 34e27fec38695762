"""Callbacks of Keras in our own loop; see also tests/finetuning/test_run.py."""

import csv
import dataclasses

import keras
import pytest
import tensorflow as tf
from small_run import CONFIG, history_rows, train_small

from keras_bert.errors import InputError
from keras_bert.training.callbacks import Callbacks, LazyMetrics
from keras_bert.training.run_folder import RunFolder

# Two intervals of 4 steps, and one of 2.
LONG = dataclasses.replace(CONFIG, save_checkpoints_steps=4)


class _Recorder(keras.callbacks.Callback):
    """Notes each call, and the numbers that it was given."""

    def __init__(self):
        super().__init__()
        self.calls = []
        self.logs = []

    def on_train_begin(self, logs=None):
        self.calls.append("begin")

    def on_train_end(self, logs=None):
        self.calls.append("end")

    def on_epoch_begin(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch}")

    def on_epoch_end(self, epoch, logs=None):
        self.calls.append(f"/epoch {epoch}")
        self.logs.append(logs)

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(batch)


def test_calls_and_logs_of_epochs(tmp_path):
    recorder = _Recorder()
    train_small(tmp_path, 10, LONG, callbacks=[recorder])
    assert recorder.calls == [
        *("begin", "epoch 0", 0, 1, 2, 3, "/epoch 0"),
        *("epoch 1", 0, 1, 2, 3, "/epoch 1"),
        *("epoch 2", 0, 1, "/epoch 2", "end"),
    ]
    assert recorder.params == {"verbose": 0, "epochs": 3, "steps": 4}
    rows = [row for row in history_rows(tmp_path) if row["val_loss"]]
    assert [
        {name: str(value) for name, value in logs.items()}
        for logs in recorder.logs
    ] == rows


def test_a_resumed_run_goes_on_counting(tmp_path):
    train_small(tmp_path, 8, LONG)
    recorder = _Recorder()
    train_small(tmp_path, 10, LONG, callbacks=[recorder])
    assert recorder.calls == ["begin", "epoch 2", 0, 1, "/epoch 2", "end"]
    finished = _Recorder()
    train_small(tmp_path, 10, LONG, callbacks=[finished])
    assert not finished.calls


def test_early_stopping_starts_anew_in_a_resumed_run(tmp_path, caplog):
    """As the log and the docs say."""

    def train(steps):
        patient = keras.callbacks.EarlyStopping(
            "val_loss", patience=2, mode="max", min_delta=10
        )
        return train_small(tmp_path, steps, LONG, callbacks=[patient])[1]

    assert train(8)["step"] == 8
    assert "start to count" not in caplog.text
    assert train(24)["step"] == 20  # three more intervals, not one
    assert "EarlyStopping start to count at step 8" in caplog.text


def test_several_steps_are_one_call(tmp_path):
    recorder = _Recorder()
    config = dataclasses.replace(LONG, steps_per_execution=2)
    train_small(tmp_path, 4, config, callbacks=[recorder])
    assert recorder.calls == ["begin", "epoch 0", 1, 3, "/epoch 0", "end"]


def test_the_logs_of_a_batch_are_numbers(tmp_path):
    """Here a row of the history is one step."""
    seen = []
    see = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(dict(logs))
    )
    train_small(tmp_path, 4, LONG, callbacks=[see])
    assert [
        {name: str(value) for name, value in logs.items()} for logs in seen
    ] == [
        {name: row[name] for name in ("loss", "learning_rate", "doubled")}
        for row in history_rows(tmp_path)
    ]
    assert all(type(x) is float for logs in seen for x in logs.values())


def test_the_device_is_not_waited_for_unless_a_callback_looks():
    class Figure:
        def __float__(self):
            raise AssertionError("read from the device")

    inputs = keras.Input((1,))
    logs_seen = []
    see = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: logs_seen.append(logs)
    )
    callbacks = Callbacks([see], keras.Model(inputs, inputs), None)
    figures = LazyMetrics({"loss": Figure()})
    callbacks.call("on_train_batch_end", 0, figures)
    (logs,) = logs_seen
    assert "loss" in logs and len(logs) == 1
    with pytest.raises(AssertionError, match="read from the device"):
        logs["loss"]


def test_the_files_of_loggers(tmp_path):
    train_small(
        tmp_path / "out",
        10,
        LONG,
        callbacks=[
            keras.callbacks.CSVLogger(tmp_path / "log.csv"),
            keras.callbacks.TensorBoard(tmp_path / "board"),
        ],
    )
    with (tmp_path / "log.csv").open() as file:
        logged = list(csv.DictReader(file))
    rows = [r for r in history_rows(tmp_path / "out") if r["val_loss"]]
    assert [row["epoch"] for row in logged] == ["0", "1", "2"]
    for name in ("step", "loss", "val_loss"):
        assert [r[name] for r in logged] == [r[name] for r in rows]
    (file,) = (tmp_path / "board/validation").iterdir()
    events = [
        tf.compat.v1.Event.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(file))
    ]
    tags = {value.tag for event in events for value in event.summary.value}
    assert "epoch_loss" in tags


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The model after 10 steps without callbacks."""
    return train_small(tmp_path_factory.mktemp("whole"), 10, LONG)[0]


@pytest.mark.parametrize(
    ("moment", "steps"),
    [("on_train_batch_end", ["6"]), ("on_epoch_end", ["4", "8"])],
)
def test_a_callback_ends_the_run(whole, tmp_path, moment, steps, logged):
    """After the step, or the epoch: saved and evaluated; resumed if asked."""

    class Stops(keras.callbacks.Callback):
        pass

    def stop(self, number, logs=None):
        optimizer = self.model.optimizer
        self.model.stop_training = optimizer.iterations in (6, 8)

    setattr(Stops, moment, stop)
    _, figures = train_small(tmp_path, 10, LONG, callbacks=[Stops()])
    assert str(figures["step"]) == steps[-1] and figures["val_loss"] > 0
    assert "The run ended early: a callback stopped it" in logged.text
    names = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert f"step-{figures['step']:08d}" in names
    model, figures = train_small(tmp_path, 10, LONG)
    assert figures["step"] == 10
    for a, b in zip(whole.weights, model.weights, strict=True):
        assert (a.numpy() == b.numpy()).all()


def test_early_stopping_of_keras(tmp_path, caplog):
    """The same call again does nothing, as after the rules of the config."""

    def train(*more):
        stopping = keras.callbacks.EarlyStopping(
            "val_loss", patience=1, mode="max", min_delta=10
        )
        return train_small(tmp_path, 10, LONG, callbacks=[stopping, *more])

    model, figures = train()
    assert figures["step"] == 8
    assert "already finished" not in caplog.text
    recorder = _Recorder()
    again, figures = train(recorder)
    assert figures["step"] == 8 and not recorder.calls
    assert "already finished with the same inputs, at step 8" in caplog.text
    for a, b in zip(model.weights, again.weights, strict=True):
        assert (a.numpy() == b.numpy()).all()


def test_a_run_that_was_interrupted_is_not_finished(tmp_path):
    """Even if a callback was about to end it."""

    class Interrupted(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_small(tmp_path, 10, LONG, callbacks=[Interrupted()])
    recorder = _Recorder()
    _, figures = train_small(tmp_path, 10, LONG, callbacks=[recorder])
    assert figures["step"] == 10 and "epoch 1" in recorder.calls


@pytest.mark.parametrize("callbacks", [None, keras.callbacks.Callback()])
def test_none_or_one_callback_needs_no_list(callbacks):
    calls = Callbacks(callbacks, keras.Sequential(), None)
    calls.call("on_epoch_begin", 0)
    assert not calls.stops


def test_a_callback_that_sets_the_learning_rate_is_refused(
    tmp_path, monkeypatch
):
    callback = keras.callbacks.LearningRateScheduler(lambda epoch: 1e-3)
    with pytest.raises(InputError, match="LearningRateScheduler sets the lea"):
        Callbacks([callback], keras.Sequential(), None)

    def last_step(folder):
        pytest.fail("this removes the earlier run")

    monkeypatch.setattr(RunFolder, "last_step", last_step)
    with pytest.raises(InputError, match="LearningRateScheduler sets the lea"):
        train_small(tmp_path, 2, callbacks=[callback])
