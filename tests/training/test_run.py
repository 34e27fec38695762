"""The figures at the end of an interval, with a clock of our own."""

from types import SimpleNamespace

import pytest

from keras_bert.progress import Progress
from keras_bert.training import run
from keras_bert.training.run import Run
from keras_bert.training.run_files.history import History

WORK = {"sequences": 24.0, "tokens": 300.0, "flops": 9e6}


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(run.time, "monotonic", lambda: clock.now)
    return clock


def _steps(clock, seconds):
    """Steps that take these seconds, but compute nothing."""
    seconds = iter(seconds)

    def train(batches):
        clock.now += next(seconds)
        return {"loss": 0.5, "learning_rate": 0.25}

    return SimpleNamespace(
        train=train,
        steps_per_execution=1,
        take_work=lambda: WORK,
        network=SimpleNamespace(weights=[]),
        reset_figures=lambda: None,
        ruined_step=0,
    )


def test_time_and_speed(clock, tmp_path):
    seconds_of_evaluation = iter([44, 52])

    def evaluate(step):
        clock.now += next(seconds_of_evaluation)
        return {"loss": 0.7}

    history = History(tmp_path, 9)
    history.rows = [{"step": 9, "minutes": 2.0}]
    Run(
        # The last interval is shorter.
        _steps(clock, [2, 2, 2, 4, 4]),
        history,
        None,
        step=9,
        num_train_steps=14,
        interval=3,
        matmul_speed=1.5e7,
        evaluate=evaluate,
        ends_run=None,
        progress=Progress("Training", 14, initial=9),
    ).train([], evaluates_first=False)
    assert [row["step"] for row in history.rows] == [9, 10, 11, 12, 13, 14]
    assert history.rows[1] == {"step": 10, "loss": 0.5, "learning_rate": 0.25}
    assert history.rows[3] == {
        "step": 12,
        "loss": 0.5,
        "val_loss": 0.7,
        "learning_rate": 0.25,
        "minutes": pytest.approx(2 + 50 / 60),
        "sequences_per_second": 4.0,
        "tokens_per_second": 50.0,
        "flops_per_second": 1.5e6,
        "utilization_of_matmul_speed": 0.1,
    }
    assert history.last["minutes"] == pytest.approx(2 + 110 / 60)
    assert history.last["tokens_per_second"] == 37.5
