"""The figures at the end of an interval, with a clock of our own."""

from types import SimpleNamespace

import pytest

from keras_bert.progress import Progress
from keras_bert.training import intervals
from keras_bert.training.intervals import EndsIntervals
from keras_bert.training.run_files.history import History

WORK = {"sequences": 24.0, "tokens": 300.0, "flops": 9e6}


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(intervals.time, "monotonic", lambda: clock.now)
    return clock


def _interval(callback, clock, *, num_steps, seconds):
    callback.model.stop_training = False
    callback.on_epoch_begin(0)
    for batch in range(num_steps):
        clock.now += seconds / num_steps
        assert not callback.model.stop_training
        callback.on_train_batch_end(batch, {"loss": 0.5})
    assert callback.model.stop_training
    callback.on_epoch_end(0, {"loss": 0.5})


def test_time_and_speed(clock, tmp_path):
    seconds_of_evaluation = 44

    def evaluate(model, step):
        clock.now += seconds_of_evaluation
        return {"loss": 0.7}

    history = History(tmp_path, 9)
    history.rows = [{"step": 9, "minutes": 2.0}]
    callback = EndsIntervals(
        9,
        14,
        3,
        matmul_speed=1.5e7,
        history=history,
        writer=None,
        evaluate=evaluate,
        ends_run=None,
        progress=Progress("Training", 14, initial=9),
    )
    model = SimpleNamespace(
        optimizer=SimpleNamespace(learning_rate=0.25),
        take_work=lambda: WORK,
        weights=[],
        reset_metrics=lambda: None,
        stop_training=False,
    )
    callback.set_model(model)
    clock.now += 10
    _interval(callback, clock, num_steps=3, seconds=6)
    assert [row["step"] for row in history.rows] == [9, 10, 11, 12]
    assert history.rows[1] == {"step": 10, "loss": 0.5, "learning_rate": 0.25}
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
    seconds_of_evaluation = 52
    _interval(callback, clock, num_steps=2, seconds=8)
    assert (history.last["step"], history.last["minutes"]) == (14, 4.0)
    assert history.last["tokens_per_second"] == 37.5
