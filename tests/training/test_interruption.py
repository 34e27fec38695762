"""A run that is killed or gets SIGTERM goes on where it was."""

import dataclasses
import functools
import os
import shutil
import signal

import numpy as np
import pytest
from small_run import CONFIG, history_rows, train_small

from keras_bert.training.best import Selection
from keras_bert.training.checkpoint import latest_step
from keras_bert.training.steps import Steps


class _Killed(Exception):
    pass


def _step_of(steps):
    return int(steps.optimizer.iterations)


def _kill(patch, method, step):
    """Makes a method raise when it is called after a number of steps."""
    original = getattr(Steps, method)

    def killed(self, *args):
        if _step_of(self) == step:
            raise _Killed
        return original(self, *args)

    patch.setattr(Steps, method, killed)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Takes steps and a config; returns the folder and the model of a run."""

    @functools.cache
    def run(steps, config=CONFIG):
        folder = tmp_path_factory.mktemp("whole")
        return folder, train_small(folder, steps, config)[0]

    return run


@pytest.mark.parametrize(
    "optimizer",
    [
        "adam_weight_decay",
        pytest.param("lamb", marks=pytest.mark.slow),
        pytest.param("adamw", marks=pytest.mark.slow),
    ],
)
def test_interrupted_and_resumed_equals_uninterrupted(
    uninterrupted, tmp_path, monkeypatch, optimizer
):
    config = dataclasses.replace(CONFIG, optimizer=optimizer)
    folder, whole = uninterrupted(7, config)

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        _kill(patch, "train", step=5)
        train_small(tmp_path / "killed", 7, config)
    resumed, _ = train_small(tmp_path / "killed", 7, config)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    _assert_same_history(tmp_path / "killed", folder)


@pytest.fixture
def train_until_sigterm(monkeypatch):
    """Trains as `train_small`; SIGTERM comes after a call at a step."""

    def run(step, *args, method="train"):
        before = signal.getsignal(signal.SIGTERM)
        original = getattr(Steps, method)

        def terminated(self, *args):
            result = original(self, *args)
            if _step_of(self) == step:
                os.kill(os.getpid(), signal.SIGTERM)
            return result

        with monkeypatch.context() as patch, pytest.raises(SystemExit) as left:
            patch.setattr(Steps, method, terminated)
            train_small(*args)
        assert left.value.code == 143
        assert signal.getsignal(signal.SIGTERM) == before

    return run


@pytest.mark.slow
def test_sigterm_saves_the_step_and_exits(
    uninterrupted, tmp_path, train_until_sigterm, caplog
):
    _, whole = uninterrupted(7)
    train_until_sigterm(5, tmp_path / "left", 7)
    assert "Stopped by SIGTERM and saved at step 5" in caplog.text
    assert (tmp_path / "left/checkpoints/step-00000005/note.txt").is_file()
    resumed, _ = train_small(tmp_path / "left", 7)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)


def _assert_same_history(output_dir, expected_dir):
    """The same figures; the times and speeds may differ."""
    rows, expected = history_rows(output_dir), history_rows(expected_dir)
    for name in ("step", "loss", "val_loss", "learning_rate"):
        assert [r[name] for r in rows] == [r[name] for r in expected], name


@pytest.mark.slow
def test_intervals_end_where_they_would_have_without_sigterm(
    uninterrupted, tmp_path, train_until_sigterm
):
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=4)
    folder, _ = uninterrupted(11, config)
    assert [r["step"] for r in history_rows(folder)] == [
        str(step) for step in range(1, 12)
    ]
    train_until_sigterm(3, tmp_path / "left", 11, config)
    train_until_sigterm(6, tmp_path / "left", 11, config)
    train_small(tmp_path / "left", 11, config)
    _assert_same_history(tmp_path / "left", folder)


@pytest.mark.parametrize("step", [2, 4])
def test_sigterm_in_the_last_step_of_an_interval_skips_the_evaluation(
    uninterrupted, tmp_path, train_until_sigterm, step
):
    """The resumed run begins with it, also at the end of the run."""
    train_until_sigterm(step, tmp_path / "left", 4)
    checkpoint = tmp_path / f"left/checkpoints/step-{step:08d}"
    assert (checkpoint / "note.txt").is_file()
    last = history_rows(tmp_path / "left")[-1]
    assert last["step"] == str(step) and not last.get("val_loss")
    _, figures = train_small(tmp_path / "left", 4)
    assert figures["val_loss"] > 0
    _assert_same_history(tmp_path / "left", uninterrupted(4)[0])


def test_sigterm_in_the_last_evaluation_loses_only_that(
    uninterrupted, tmp_path, train_until_sigterm
):
    train_until_sigterm(4, tmp_path / "left", 4, method="evaluate")
    assert not history_rows(tmp_path / "left")[-1].get("val_loss")
    checkpoint = tmp_path / "left/checkpoints/step-00000004"
    assert (checkpoint / "note.txt").is_file()
    train_small(tmp_path / "left", 4)
    _assert_same_history(tmp_path / "left", uninterrupted(4)[0])


def test_sigterm_in_the_first_evaluation_ends_it(tmp_path, logged):
    """Nothing is saved, and the log does not say so."""
    calls = []

    def evaluate(model):
        calls.append("begin")
        os.kill(os.getpid(), signal.SIGTERM)
        calls.append("end")

    selection = Selection(evaluate, "f1")
    with pytest.raises(SystemExit) as left:
        train_small(tmp_path, 4, selection=selection, evaluates_first=True)
    assert left.value.code == 143 and calls == ["begin"]
    assert "starts at step 0; a checkpoint is written every 2" in logged.text
    assert "Stopped by SIGTERM at step 0; the same command" in logged.text
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.slow
def test_a_kill_in_an_evaluation_loses_no_step(
    uninterrupted, tmp_path, monkeypatch
):
    """The resumed run begins with the evaluation."""
    step = 4
    folder, whole = uninterrupted(7)
    with monkeypatch.context() as patch, pytest.raises(_Killed):
        _kill(patch, "evaluate", step)
        train_small(tmp_path / "killed", 7)
    assert latest_step(tmp_path / "killed/checkpoints") == step
    steps_before = []
    train = Steps.train

    def counted(self, batches):
        steps_before.append(_step_of(self))
        return train(self, batches)

    monkeypatch.setattr(Steps, "train", counted)
    resumed, _ = train_small(tmp_path / "killed", 7)
    assert steps_before == list(range(step, 7))
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    _assert_same_history(tmp_path / "killed", folder)


@pytest.mark.slow
def test_only_whole_checkpoints_are_used_and_removed(tmp_path):
    """A copy under another name is kept."""
    train_small(tmp_path, 2)
    folder = tmp_path / "checkpoints"
    copy = folder / "step-00000002-copy"
    shutil.copytree(folder / "step-00000002", copy)
    (folder / "step-old").mkdir()
    (folder / ".step-00000006.partial").mkdir()
    (folder / ".step-00000006.partial/model.safetensors").write_bytes(b"half")
    assert latest_step(folder) == 2
    assert train_small(tmp_path, 7)[1]["step"] == 7
    assert sorted(path.name for path in folder.iterdir()) == [
        "step-00000002-copy",
        "step-00000006",
        "step-00000007",
        "step-old",
    ]
