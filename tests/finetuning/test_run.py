"""A run of `finetune`: its results, its files, and what it refuses."""

import csv
import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.checkpoints.find import find_weights
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning import load_finetuned
from keras_bert.finetuning.run import FinetuningConfig, finetune
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.tasks.base import Task
from keras_bert.text.tokenizer_settings import TokenizerSettings

ROOT = Path(__file__).parent.parent.parent
CONFIG = FinetuningConfig(
    learning_rate=0.001,
    train_batch_size=5,
    eval_batch_size=7,
    num_train_epochs=30,
    save_checkpoints_steps=50,
)


@pytest.fixture
def checkpoint(config, tmp_path):
    # Without dropout a network this small learns reliably.
    config = dataclasses.replace(
        config,
        num_hidden_layers=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return write_checkpoint(
        tmp_path / "pretrained",
        config,
        build=build_pretraining_model,
        scale=0.02,
    )


def _rows(num_rows, seed):
    """The label is "second" if the right text says "good", else "first"."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(num_rows):
        left, right = (
            " ".join(random.choice(["the", "a", "film", "was"], n))
            for n in random.integers(1, 5, 2)
        )
        label = random.choice(["first", "second"])
        right += " good" if label == "second" else " bad"
        rows.append({"left": left, "right": right, "label": str(label)})
    return rows


SPLITS = {
    "train": _rows(60, 1),
    "validation": _rows(23, 2),
    "test": [
        {k: v for k, v in row.items() if k != "label"} for row in _rows(11, 3)
    ],
}


def _reader(**splits):
    def read(data_dir, split):
        if split not in splits:
            raise FileNotFoundError(f"This task has no {split} file.")
        return splits[split]

    return read


def _task(**changes):
    fields = {
        "kind": "classification",
        "text_fields": ("left", "right"),
        "labels": ("first", "second"),
        "metrics": ("accuracy", "f1"),
        "read": _reader(**SPLITS),
        "settings": {"max_seq_length": 12},
    }
    return Task(**fields | changes)


@pytest.fixture
def run(checkpoint, tmp_path):
    """Fine-tunes with some arguments replaced; the results are in `out`."""

    def run(task=None, out="out", *, start=checkpoint, config=CONFIG, **kwargs):
        return finetune(
            task or _task(),
            tmp_path,
            tmp_path / out,
            checkpoint=start,
            config=config,
            **kwargs,
        )

    return run


def _config(**changes):
    return dataclasses.replace(CONFIG, **changes)


def _predict_in_a_new_process(served, texts):
    """Runs predict.py in a new process; returns its answers."""
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "run_scripts/predict.py",
            f"--model_dir={served}",
        ],
        input="\n".join(texts) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _scores(answers):
    return [list(answer["scores"].values()) for answer in answers]


@pytest.mark.slow
@pytest.mark.pictures
def test_pairs_from_checkpoint_to_raw_strings(run, tmp_path):
    out = tmp_path / "out"
    results = run()
    assert results["accuracy"] > 0.9
    assert json.loads((out / "eval_results.json").read_text()) == results
    assert (out / "confusion_matrix.png").read_bytes().startswith(b"\x89PNG")

    rows = _task().read(tmp_path, "validation")
    with (out / "predictions.jsonl").open() as lines:
        predictions = [json.loads(line) for line in lines]
    assert [
        {"left": p["left"], "right": p["right"], "label": p["gold"]}
        for p in predictions
    ] == rows
    agree = [p["label"] == p["gold"] for p in predictions]
    assert np.mean(agree) == pytest.approx(results["accuracy"])
    with (out / "test_predictions.tsv").open() as file:
        test_rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["index"] for row in test_rows] == [str(i) for i in range(11)]
    assert {row["prediction"] for row in test_rows} == {"first", "second"}

    finetuned = load_finetuned(out)
    scores = _scores(finetuned.predict(rows))
    np.testing.assert_allclose(scores, _scores(predictions), atol=1e-6)
    finetuned.export(tmp_path / "served")
    answers = _predict_in_a_new_process(
        tmp_path / "served", [f"{r['left']}\t{r['right']}" for r in rows]
    )
    assert [a["label"] for a in answers] == [p["label"] for p in predictions]
    np.testing.assert_allclose(_scores(answers), scores, atol=1e-5)
    assert list(answers[0]["scores"]) == ["first", "second"]


@pytest.mark.slow
def test_a_finetuned_model_is_evaluated_on_another_set(run, tmp_path):
    """The other set has no training file, like GLUE's diagnostics of MNLI."""
    settings = {"label_smoothing": 0.1}
    run(out="trained", config=_config(num_train_epochs=1), settings=settings)
    rows = _rows(17, 4)
    config = _config(num_train_epochs=0)
    task = _task(read=_reader(validation=rows))
    results = run(task, start=tmp_path / "trained", config=config)
    answers = load_finetuned(tmp_path / "trained").predict(rows)
    right = [
        a["label"] == r["label"] for a, r in zip(answers, rows, strict=True)
    ]
    assert results["accuracy"] == pytest.approx(np.mean(right))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "confusion_matrix.png",
        "errors.tsv",
        "eval_results.json",
        "predictions.jsonl",
    }
    swapped = dataclasses.replace(task, labels=("second", "first"))
    for asked, start, message in (
        (swapped, "trained", "but the task is classification"),
        (task, "pretrained", "has no task.json"),
    ):
        with pytest.raises(ValueError, match=message):
            run(asked, "refused", start=tmp_path / start, config=config)
    assert not (tmp_path / "refused").exists()


def test_the_best_checkpoint_is_the_result(run, tmp_path):
    out = tmp_path / "out"
    config = _config(save_checkpoints_steps=8, num_train_epochs=2)
    results = run(config=config)
    with (out / "history.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["val_accuracy"]]
    history = [float(row["val_accuracy"]) for row in rows]
    assert len(history) == 3
    assert results["accuracy"] == pytest.approx(max(history))
    score = json.loads((out / "best" / "score.json").read_text())
    best = [
        row for row, x in zip(rows, history, strict=True) if x == max(history)
    ]
    lowest = min(best, key=lambda row: float(row["val_loss"]))
    assert score == {
        "step": int(lowest["step"]),
        "score": pytest.approx(max(history)),
        "since": int(best[0]["step"]),
        "loss": pytest.approx(float(lowest["val_loss"])),
    }
    assert find_weights(out) == out / "best" / "model.safetensors"
    card = (out / "best" / "README.md").read_text()
    assert f'{{"type": "accuracy", "value": {results["accuracy"]}}}' in card
    assert run(config=config) == pytest.approx(results)


@pytest.mark.slow
def test_training_stops_if_the_metric_does_not_rise(run, tmp_path):
    config = _config(
        learning_rate=1e-9,
        save_checkpoints_steps=2,
        num_train_epochs=10,
        early_stopping_patience=3,
    )
    for _ in range(2):  # the repeated command trains no more
        run(config=config)
        with (tmp_path / "out" / "history.csv").open() as file:
            rows = csv.DictReader(file)
            steps = [row["step"] for row in rows if row["val_loss"]]
        assert steps == ["2", "4", "6", "8"]


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_config_may_choose_another_casing(run, checkpoint, tmp_path):
    settings = TokenizerSettings(do_lower_case=False, strip_accents=True)
    (checkpoint / "tokenizer_config.json").write_text(settings.to_json(16))
    run(config=_config(num_train_epochs=0.1, do_lower_case=True))
    found = load_finetuned(tmp_path / "out").kind.tokenizer.settings
    assert found == dataclasses.replace(settings, do_lower_case=True)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_second_validation_set_and_named_test_files(
    run, checkpoint, tmp_path
):
    settings = TokenizerSettings(do_lower_case=False, strip_accents=True)
    (checkpoint / "tokenizer_config.json").write_text(settings.to_json(16))
    rows = SPLITS["train"][:13]
    task = _task(
        validation_splits=("matched", "mismatched"),
        test_files={"test_matched": "A-m.tsv", "test_absent": "A-x.tsv"},
        read=_reader(
            train=rows,
            matched=SPLITS["validation"][:5],
            mismatched=rows,
            test_matched=SPLITS["test"],
        ),
    )
    out = tmp_path / "out"
    results = run(task, config=_config(num_train_epochs=0.1))
    assert sorted(results) == sorted(
        f"{split}{name}"
        for split in ("", "mismatched_")
        for name in ("accuracy", "f1", "loss")
    )
    finetuned = load_finetuned(out)
    # The casing comes from the checkpoint.
    assert finetuned.kind.tokenizer.settings == settings
    answers = finetuned.predict(rows)
    right = [
        a["label"] == r["label"] for a, r in zip(answers, rows, strict=True)
    ]
    assert results["mismatched_accuracy"] == pytest.approx(np.mean(right))
    assert len((out / "A-m.tsv").read_text().splitlines()) == 12
    assert (out / "A-m.jsonl").is_file()
    assert not (out / "A-x.tsv").exists()


@pytest.mark.usefixtures("eagerly")
def test_the_first_validation_set_is_needed(run):
    """Or the second one would choose the best model in its place."""
    task = _task(
        validation_splits=("dev", "validation"), read=_reader(**SPLITS)
    )
    with pytest.raises(FileNotFoundError, match="This task has no dev file"):
        run(task, config=_config(num_train_epochs=0.1))


@pytest.mark.slow
def test_regression_of_single_texts(run, tmp_path):
    train = [
        {"text": "good " * (i % 5) + "film", "label": str(i % 5)}
        for i in range(60)
    ]
    validation = [
        {"text": "good " * i + "film", "label": np.float32(i), "score": i}
        for i in range(5)
    ]
    task = _task(
        kind="regression",
        text_fields=("text",),
        labels=(),
        metrics=("pearson", "spearman"),
        read=_reader(train=train, validation=validation),
        validation_splits=("validation", "test"),
    )
    results = run(task)
    assert results["pearson"] > 0.8
    assert set(results) == {"pearson", "spearman", "loss"}
    with (tmp_path / "out" / "predictions.jsonl").open() as lines:
        predictions = [json.loads(line) for line in lines]
    assert [(p["gold"], p["score"]) for p in predictions] == [
        (i, i) for i in range(5)
    ]
    assert predictions[4]["predicted_score"] > predictions[0]["predicted_score"]
    assert not (tmp_path / "out" / "test_predictions.tsv").exists()
    assert not (tmp_path / "out" / "confusion_matrix.png").exists()


def test_wrong_input_is_refused(run, config, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no train file at"):
        run("glue/sst2", settings={"max_seq_length": 12})
    with pytest.raises(ValueError, match="Label 'first' of example"):
        run(_task(labels=("1st", "second")))
    with pytest.raises(
        FileNotFoundError, match="No vocab.txt; give a vocab_file"
    ):
        run(start=None, bert_config=config)
    with pytest.raises(ValueError, match="pretrained contains model"):
        run(out="pretrained")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_run_may_leave_the_dropout_of_its_checkpoint_out(
    run, checkpoint, tmp_path
):
    other = tmp_path / "other"
    shutil.copytree(checkpoint, other)
    values = json.loads((other / "bert_config.json").read_text())
    rates = {"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5}
    (other / "bert_config.json").write_text(json.dumps(values | rates))
    splits = {name: rows[:10] for name, rows in SPLITS.items()}
    task = _task(read=_reader(**splits))
    kept = {}
    for folder, rate in ((checkpoint, None), (other, 0.0)):
        config = _config(num_train_epochs=1, dropout_rate=rate)
        run(task, f"out_{rate}", start=folder, config=config)
        best = tmp_path / f"out_{rate}" / "best"
        kept[rate] = load_file(best / "model.safetensors")
        found = BertConfig.from_json(best / "bert_config.json")
        assert found.hidden_dropout_prob == (0.0 if rate is None else 0.5)
    for path, weight in kept[None].items():
        np.testing.assert_array_equal(weight, kept[0.0][path])


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_starting_over_keeps_the_model_that_the_run_starts_from(
    run, checkpoint, tmp_path
):
    out = tmp_path / "out"
    shutil.copytree(checkpoint, out / "best")
    link = tmp_path / "link"
    link.symlink_to(out)
    splits = {name: rows[:5] for name, rows in SPLITS.items()}
    options = {"start": out / "best", "overwrite_output_dir": True}
    for folder in (out, link):
        with pytest.raises(InputError, match="overwrite_output_dir would rem"):
            run(_task(read=_reader(**splits)), folder, **options)
    assert (out / "best" / "vocab.txt").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_fields_of_a_model_that_is_evaluated(run, checkpoint, tmp_path):
    model = keras_bert.TextClassifier.from_pretrained(
        checkpoint, labels=("first", "second"), text_fields=("left", "right")
    )
    model.save(tmp_path / "model")
    options = {
        "start": tmp_path / "model",
        "config": _config(num_train_epochs=0),
    }
    for fields in (("right", "left"), ("left",)):
        with pytest.raises(InputError, match="reads the fields left, right"):
            run(_task(text_fields=fields), **options)
    # What an earlier run left does not stay beside the new answers.
    stale = tmp_path / "out/test_predictions.tsv"
    stale.parent.mkdir()
    stale.write_text("index\tprediction\n")
    run(_task(read=_reader(validation=_rows(5, 2)), settings={}), **options)
    assert not stale.exists()
    assert (stale.parent / "predictions.jsonl").is_file()
