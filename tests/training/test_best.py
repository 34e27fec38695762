"""The best checkpoint of a run, and the patience that it decides on."""

import dataclasses
import json
import math

import numpy as np
import pytest
import safetensors
from safetensors.numpy import load_file
from small_run import CONFIG, history_rows, train_small

from keras_bert.training import checkpoint
from keras_bert.training.best import Selection


def _train(output_dir, scores, steps=10, patience=0, loss=1.0, config=CONFIG):
    """Trains with these scores for the intervals."""
    scores = iter(scores)
    weights = []

    def evaluate(model):
        weights.append([w.numpy() for w in model.weights])
        return {"f1": next(scores), "loss": loss}

    selection = Selection(evaluate, "f1", patience)
    train_small(output_dir, steps, config, selection=selection)
    return weights


def _scores(output_dir):
    rows = history_rows(output_dir)
    return [float(row["val_f1"]) for row in rows if row["val_f1"]]


def _best(output_dir):
    return json.loads((output_dir / "best" / "score.json").read_text())


def test_the_weights_of_the_best_interval_are_kept(tmp_path):
    weights = _train(tmp_path, [0.25, 0.5, 0.75, 0.5, 0.75])
    assert _scores(tmp_path) == [0.25, 0.5, 0.75, 0.5, 0.75]
    best = tmp_path / "best"
    assert sorted(p.name for p in best.iterdir()) == [
        "checksums.json",
        "fingerprint.json",
        "model.safetensors",
        "note.txt",
        "score.json",
    ]
    score = {"step": 6, "score": 0.75, "since": 6, "loss": 1.0}
    assert _best(tmp_path) == score
    kept = load_file(best / "model.safetensors")
    for name, array in kept.items():
        assert any(np.array_equal(array, w) for w in weights[2]), name
    assert not all(
        any(np.array_equal(a, w) for w in weights[4]) for a in kept.values()
    )


def test_a_resumed_run_remembers_the_best(tmp_path):
    _train(tmp_path, [0.75, 0.5], steps=4)
    _train(tmp_path, [0.25], steps=6)
    score = {"step": 2, "score": 0.75, "since": 2, "loss": 1.0}
    assert _best(tmp_path) == score
    # As if it had been killed while it replaced the folder.
    (tmp_path / "best").rename(tmp_path / ".best.replaced")
    _train(tmp_path, [0.25], steps=8)
    assert not (tmp_path / "best").exists()


def test_of_equal_scores_that_with_the_lower_loss_is_kept(tmp_path):
    for steps, loss, best in ((2, 0.5, 2), (4, 0.25, 4), (6, 0.375, 4)):
        _train(tmp_path, [0.75], steps=steps, loss=loss)
        score = _best(tmp_path)
        assert (score["step"], score["since"]) == (best, 2)
    # A lower loss alone does not extend the run.
    _train(tmp_path, [], steps=9, patience=2)
    assert len(_scores(tmp_path)) == 3


def test_ends_after_its_patience(tmp_path):
    _train(tmp_path, [0.5, 0.75, 0.25, 0.5], patience=2)
    assert _scores(tmp_path) == [0.5, 0.75, 0.25, 0.5]
    _train(tmp_path, [], patience=2)  # has ended: does not evaluate again
    assert _scores(tmp_path) == [0.5, 0.75, 0.25, 0.5]


def test_patience_is_in_intervals_of_the_current_length(tmp_path):
    """A run with intervals of 4 steps is resumed with intervals of 1."""
    long, short = (
        dataclasses.replace(CONFIG, save_checkpoints_steps=n) for n in (4, 1)
    )
    _train(tmp_path, [0.75, 0.5], steps=8, config=long)
    # The best score is of step 4, so the run ends at step 9.
    _train(tmp_path, [0.25], steps=20, patience=5, config=short)
    assert _scores(tmp_path) == [0.75, 0.5, 0.25]


def test_a_bad_end_leaves_the_best_so_far(tmp_path, monkeypatch):
    """Ruined weights may guess the right labels; or the disk is full."""
    score = {"step": 2, "score": 0.25, "since": 2, "loss": 1.0}
    _train(tmp_path, [0.25], steps=2)
    with pytest.raises(ValueError, match="held-out loss is not .* at step 4"):
        _train(tmp_path, [0.75], steps=4, loss=math.nan)
    assert _best(tmp_path) == score
    assert _scores(tmp_path) == [0.25]
    save_file = checkpoint.safetensors_numpy.save_file

    def no_room_for_best(arrays, file, *rest):
        if "best" in file.parent.name:
            raise safetensors.SafetensorError("No space left on device")
        save_file(arrays, file)

    monkeypatch.setattr(
        checkpoint.safetensors_numpy, "save_file", no_room_for_best
    )
    with pytest.raises(OSError, match="Cannot write .*/best .No space left"):
        _train(tmp_path, [0.75], steps=4)
    assert _best(tmp_path) == score
