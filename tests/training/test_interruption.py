import dataclasses
import os
import shutil
import signal

import numpy as np
import pytest
from small_run import CONFIG, history_rows, train_small

from keras_bert.training.intervals import EndsIntervals


class _Killed(Exception):
    pass


@pytest.mark.parametrize("optimizer", ["adam_weight_decay", "lamb", "adamw"])
def test_interrupted_and_resumed_equals_uninterrupted(
    tmp_path, monkeypatch, optimizer
):
    config = dataclasses.replace(CONFIG, optimizer=optimizer)
    whole, _ = train_small(tmp_path / "whole", 7, config)

    on_train_batch_end = EndsIntervals.on_train_batch_end

    def killed_at_step_5(self, batch, logs=None):
        on_train_batch_end(self, batch, logs)
        if self.step == 5:
            raise _Killed

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(EndsIntervals, "on_train_batch_end", killed_at_step_5)
        train_small(tmp_path / "killed", 7, config)
    resumed, _ = train_small(tmp_path / "killed", 7, config)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    for name in ("step", "loss", "val_loss", "learning_rate"):
        assert [
            float(row[name]) for row in history_rows(tmp_path / "whole")
        ] == [float(row[name]) for row in history_rows(tmp_path / "killed")]


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
            train_small(*args)
        assert left.value.code == 143
        assert signal.getsignal(signal.SIGTERM) == before

    return run


def test_sigterm_saves_the_step_and_leaves(
    tmp_path, train_until_sigterm, caplog
):
    whole, _ = train_small(tmp_path / "whole", 7)
    train_until_sigterm(5, tmp_path / "left", 7)
    assert "Stopped by SIGTERM and saved at step 5" in caplog.text
    assert (tmp_path / "left/checkpoints/step-00000005/note.txt").is_file()
    resumed, _ = train_small(tmp_path / "left", 7)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)


def test_intervals_end_where_they_would_have_without_sigterm(
    tmp_path, train_until_sigterm
):
    """Held out, their figures are the same too."""
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=4)
    train_small(tmp_path / "whole", 11, config)
    train_until_sigterm(3, tmp_path / "left", 11, config)
    train_until_sigterm(6, tmp_path / "left", 11, config)
    train_small(tmp_path / "left", 11, config)
    rows, expected = (
        history_rows(tmp_path / "left"),
        history_rows(tmp_path / "whole"),
    )
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
    rows = history_rows(tmp_path)
    assert [int(row["step"]) for row in rows] == [2, 4][: step // 2]
    assert all(row["val_loss"] for row in rows)


def test_a_copy_under_another_name_is_let_alone(tmp_path):
    train_small(tmp_path, 2)
    folder = tmp_path / "checkpoints"
    copy = folder / "step-00000002-copy"
    shutil.copytree(folder / "step-00000002", copy)
    (folder / "step-old").mkdir()
    assert train_small(tmp_path, 7)[1]["step"] == 7
    assert sorted(path.name for path in folder.iterdir()) == [
        "step-00000002-copy",
        "step-00000006",
        "step-00000007",
        "step-old",
    ]


def test_a_half_written_checkpoint_is_not_taken(tmp_path):
    train_small(tmp_path, 4)
    partial = tmp_path / "checkpoints" / ".step-00000006.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    assert train_small(tmp_path, 4)[1]["step"] == 4
    train_small(tmp_path, 6)
    assert not partial.exists()
