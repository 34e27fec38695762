"""A run with a limit of time, on a clock that each step moves."""

import dataclasses
from types import SimpleNamespace

import keras
import pytest
from small_run import CONFIG, history_rows, train_small

from keras_bert import progress
from keras_bert.training import run, stopping
from keras_bert.training.best import Selection, best_of


class _Clock(keras.callbacks.Callback):
    """Each step takes 6 seconds."""

    seconds = 0.0

    def on_train_batch_end(self, batch, logs=None):
        self.seconds += 6


CONFIG_OF_A_MINUTE = dataclasses.replace(
    CONFIG, max_train_time=1.0, save_checkpoints_steps=4
)


@pytest.fixture
def clock(monkeypatch):
    clock = _Clock()
    fake = SimpleNamespace(monotonic=lambda: clock.seconds)
    monkeypatch.setattr(run, "time", fake)
    monkeypatch.setattr(stopping, "time", fake)
    return clock


def test_the_rate_follows_the_clock_and_the_run_ends(
    clock, tmp_path, logged, monkeypatch
):
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    config = CONFIG_OF_A_MINUTE
    _, figures = train_small(tmp_path, 50, config, callbacks=[clock])
    assert figures["step"] == 10
    rates = [
        float(row["learning_rate"])
        for row in history_rows(tmp_path)
        if row["learning_rate"]
    ]
    # The first step is counted by its number, the other steps by their time.
    shares = [1 / 50, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert rates == pytest.approx([0.05 * (1 - share) for share in shares])
    # A time left of 50 steps would be nonsense.
    lines = [x for x in logged.messages if x.startswith("Training: ")]
    assert lines[4].startswith("Training: 5 steps, loss ")
    assert "minutes left 0.5, " in lines[4]
    assert not any("of 50" in line or line.endswith(" left") for line in lines)
    # The same command takes no more steps.
    _, again = train_small(tmp_path, 50, config, callbacks=[clock])
    assert again["step"] == 10


def test_a_kill_in_the_last_evaluation_loses_only_that(clock, tmp_path):
    killed = []

    def evaluate(model):
        if clock.seconds >= 60 and not killed:
            killed.append(True)
            raise KeyboardInterrupt
        return {"f1": clock.seconds}

    def train():
        train_small(
            tmp_path,
            50,
            CONFIG_OF_A_MINUTE,
            callbacks=[clock],
            selection=Selection(evaluate, "f1"),
        )

    with pytest.raises(KeyboardInterrupt):
        train()
    assert best_of(tmp_path / "best")["step"] == 8
    train()
    assert best_of(tmp_path / "best")["step"] == 10
