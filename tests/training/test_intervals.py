"""The figures that an interval ends with, by a clock of our own."""

from types import SimpleNamespace

import pytest

from keras_bert.training import intervals
from keras_bert.training.intervals import EndsIntervals
from keras_bert.training.run_files.history import History

WORK = {"sequences": 24.0, "tokens": 300.0, "flops": 9e6}


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(intervals.time, "monotonic", lambda: clock.now)
    return clock


def _interval(callback, clock, *, num_steps, seconds, seconds_of_evaluation):
    callback.on_epoch_begin(0)
    for batch in range(num_steps):
        clock.now += seconds / num_steps
        assert not callback.model.stop_training
        callback.on_train_batch_end(batch, {"loss": 0.5})
    assert callback.model.stop_training
    clock.now += seconds_of_evaluation
    callback.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.7})


def test_time_and_speed(clock, tmp_path):
    history = History(tmp_path, 9)
    history.rows = [{"step": 9, "minutes": 2.0}]
    callback = EndsIntervals(
        9, 14, 3, 1.5e7, history, None, ends_run=lambda epoch: False
    )
    model = SimpleNamespace(
        optimizer=SimpleNamespace(learning_rate=0.25),
        take_work=lambda: WORK,
        weights=[],
        stop_training=False,
    )
    callback.set_model(model)
    callback.on_train_begin()
    clock.now += 10
    sizes = {"num_steps": 3, "seconds": 6, "seconds_of_evaluation": 44}
    _interval(callback, clock, **sizes)
    assert history.last == {
        "step": 12,
        "loss": 0.5,
        "val_loss": 0.7,
        "learning_rate": 0.25,
        "minutes": 3.0,
        "sequences_per_second": 4.0,
        "tokens_per_second": 50.0,
        "flops_per_second": 1.5e6,
        "utilization_of_matmul_speed": 0.1,
    }
    # The last one is shorter.
    _interval(callback, clock, num_steps=2, seconds=8, seconds_of_evaluation=52)
    assert (history.last["step"], history.last["minutes"]) == (14, 4.0)
    assert history.last["tokens_per_second"] == 37.5
