import csv
import dataclasses

import pytest

from keras_bert.errors import InputError
from keras_bert.finetuning import search as grid_search
from keras_bert.finetuning.run import FinetuningConfig
from keras_bert.finetuning.search import search_hyperparameters
from keras_bert.tasks.base import Task

TASK = Task(
    kind="classification",
    text_fields=("text",),
    labels=("no", "yes"),
    metrics=("f1", "accuracy"),
    read=lambda data_dir, split: [{"text": split, "label": "yes"}],
)
CONFIGS = [
    dataclasses.replace(
        FinetuningConfig(random_seed=7),
        learning_rate=rate,
        train_batch_size=size,
    )
    for rate in (0.1, 0.2)
    for size in (8, 16)
]


@pytest.fixture
def runs(monkeypatch):
    """Lists the configs that ran; f1 is a function of the config."""
    runs = []

    def finetune(task, data_dir, output_dir, *, config, **kwargs):
        kwargs.pop("overwrite_output_dir", None)
        assert kwargs == {
            "vocab_file": "there",
            # All runs share it.
            "cache_dir": output_dir.parent / "encoded",
        }
        for name in ("best", "checkpoints"):
            (output_dir / name).mkdir(parents=True, exist_ok=True)
        runs.append(config)
        f1 = config.learning_rate + config.random_seed / 100
        return {"f1": f1 - config.train_batch_size / 1000, "accuracy": 0.5}

    monkeypatch.setattr(grid_search, "finetune", finetune)
    return runs


def _search(output_dir, configs=CONFIGS, task=TASK, **kwargs):
    return search_hyperparameters(
        task,
        "data",
        output_dir,
        configs=configs,
        num_restarts=2,
        vocab_file="there",
        **kwargs,
    )


@pytest.mark.pictures
def test_every_combination_runs_and_the_best_is_kept(tmp_path, runs):
    best = _search(tmp_path)
    assert len(runs) == len(set(runs)) == 8
    assert {run.random_seed for run in runs} == {7, 8}
    assert best["f1"] == pytest.approx(0.2 + 0.08 - 0.008)
    assert (best["learning_rate"], best["random_seed"]) == (0.2, 8)
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert [float(row["f1"]) for row in rows] == sorted(
        (float(row["f1"]) for row in rows), reverse=True
    )
    assert list(rows[0]) == [
        "learning_rate",
        "train_batch_size",
        "random_seed",
        "num_train_epochs",
        "f1",
        "accuracy",
        "minutes",
    ]
    assert (tmp_path / "search.png").read_bytes().startswith(b"\x89PNG")
    kept = [path.parent.name for path in tmp_path.glob("*/best")]
    assert kept == [
        "learning_rate=0.2,train_batch_size=8,random_seed=8,"
        "num_train_epochs=3.0"
    ]
    assert not list(tmp_path.glob("*/checkpoints"))


def test_finished_runs_are_not_repeated(tmp_path, runs):
    _search(tmp_path, CONFIGS[:2])
    before = len(runs)
    best = _search(tmp_path)
    assert len(runs) == before + 4
    assert best["learning_rate"] == 0.2


def test_a_search_with_changed_settings_is_refused(tmp_path, runs):
    _search(tmp_path)
    changed = [dataclasses.replace(c, eval_batch_size=7) for c in CONFIGS]
    with pytest.raises(ValueError, match="run with eval_batch_size=64, not 7"):
        _search(tmp_path, changed)


def test_a_search_on_other_rows_is_refused_or_starts_over(tmp_path, runs):
    _search(tmp_path, CONFIGS[:1])
    before = len(runs)
    changed = dataclasses.replace(
        TASK, read=lambda data_dir, split: [{"text": split, "label": "no"}]
    )
    with pytest.raises(InputError, match="was run with rows="):
        _search(tmp_path, CONFIGS[:1], changed)
    assert len(runs) == before
    _search(tmp_path, CONFIGS[:1], changed, overwrite_output_dir=True)
    assert len(runs) == 2 * before


def test_a_search_that_reads_other_fields_is_refused(tmp_path, runs):
    _search(tmp_path, CONFIGS[:1])
    changed = dataclasses.replace(TASK, text_fields=("title",))
    with pytest.raises(InputError, match="was run with task=.*'text'"):
        _search(tmp_path, CONFIGS[:1], changed)


def test_a_repeated_config_runs_once(tmp_path, runs):
    seeds = [dataclasses.replace(CONFIGS[0], random_seed=i) for i in (1, 2)]
    _search(tmp_path, [*seeds, seeds[1]])
    assert [run.random_seed for run in runs] == [1, 2, 3]
    assert len(list(tmp_path.glob("*/best"))) == 1


def test_a_score_of_nan_is_not_the_best(tmp_path, monkeypatch):
    figures = iter([float("nan"), 0.3, float("nan"), 0.2])

    def finetune(task, data_dir, output_dir, **kwargs):
        (output_dir / "checkpoints").mkdir(parents=True)
        return {"f1": next(figures)}

    monkeypatch.setattr(grid_search, "finetune", finetune)
    best = _search(tmp_path, CONFIGS[:2])
    assert (best["f1"], best["random_seed"]) == (0.3, 8)
    with (tmp_path / "search.csv").open() as file:
        scores = [row["f1"] for row in csv.DictReader(file)]
    assert scores == ["0.3", "0.2", "nan", "nan"]


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "nothing to run; give a value for each flag"),
        (
            [FinetuningConfig(distribution_strategy="multi_worker_mirrored")],
            "cannot use several workers",
        ),
        ([FinetuningConfig(num_train_epochs=0)], "nothing is trained"),
    ],
)
def test_impossible_searches_are_refused(tmp_path, runs, configs, message):
    with pytest.raises(ValueError, match=message):
        _search(tmp_path, configs)
    assert not runs
