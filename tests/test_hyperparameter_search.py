"""examples/hyperparameter_search.py, with a finetune that takes no time."""

import csv
import json
import runpy
import subprocess
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "examples" / "hyperparameter_search.py"
SEARCH = runpy.run_path(str(FILE))
GRID = ["--learning_rate=0.1,0.2", "--random_seed=7,8", "--class_weights=1,2"]


@pytest.fixture
def runs(monkeypatch):
    """Lists the flags of each run; f1 is null for one combination."""
    runs = []

    def run(command):
        flags = dict(x.removeprefix("--").split("=", 1) for x in command[4:])
        folder = Path(flags.pop("output_dir"))
        runs.append(flags)
        for name in ("best", "checkpoints"):
            (folder / name).mkdir(parents=True)
        f1 = float(flags["learning_rate"]) + int(flags["random_seed"]) / 100
        figures = {"f1": None if f1 == 0.17 else f1, "loss": 0.5}
        (folder / "eval_results.json").write_text(json.dumps(figures))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return runs


def _search(folder, *arguments):
    SEARCH["main"]([f"--output_dir={folder}", *arguments])


def test_every_combination_runs_once_and_the_best_is_kept(tmp_path, runs):
    _search(tmp_path, *GRID)
    _search(tmp_path, *GRID)
    assert len(runs) == 4
    assert {run["class_weights"] for run in runs} == {"1,2"}
    assert {run["cache_dir"] for run in runs} == {str(tmp_path / "encoded")}
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["f1"] for row in rows] == ["0.28", "0.27", "0.18", ""]
    assert list(rows[0]) == ["learning_rate", "random_seed", "f1", "loss"]
    kept = [path.parent.name for path in tmp_path.glob("*/best")]
    assert kept == ["learning_rate=0.2,random_seed=8"]
    assert not list(tmp_path.glob("*/checkpoints"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learning_rate=0.1", "--random_seed=7"], "have other flags"),
        (["--overwrite_output_dir"], "has no value; write --name=value"),
    ],
)
def test_other_flags_are_refused(tmp_path, runs, arguments, message):
    _search(tmp_path, *GRID)
    with pytest.raises(SystemExit, match=message):
        _search(tmp_path, *arguments)
    assert len(runs) == 4


def test_a_run_that_fails_ends_the_search(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(subprocess, "run", lambda command: failed)
    with pytest.raises(SystemExit) as error:
        _search(tmp_path, *GRID)
    assert error.value.code == 1
    assert not list(tmp_path.glob("*/done.json"))
