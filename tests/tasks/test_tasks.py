import dataclasses
import json

import numpy as np
import pytest

from keras_bert.kinds.base import build_head
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.spec import TaskSpec
from keras_bert.tasks import get_task, known_tasks, readers
from keras_bert.tasks.base import Task


@pytest.mark.parametrize("name", sorted(known_tasks()))
def test_every_task_has_examples_that_its_head_takes(name, config, vocab_file):
    task = get_task(name)
    rows = list(task.examples)
    assert len(rows) >= 2
    for row in rows:
        assert set(row) >= {*task.text_fields, "label"}
    spec = TaskSpec(
        head=task.head,
        labels=task.labels,
        text_fields=task.text_fields,
        max_seq_length=16,
        do_lower_case=True,
        max_query_length=6,
        doc_stride=3,
    )
    head = build_head(spec, vocab_file, config)
    examples = head.encode(rows, labeled=True)
    assert set(examples.rows) == set(range(len(rows)))
    features, labels, _ = examples.batch(np.arange(len(examples.rows)))
    assert features["input_ids"].shape[0] == len(examples.rows)
    assert set(labels) == set(head.objectives)
    values = [np.unique(x.numpy()).size for x in labels.values()]
    assert max(values) > 1


def test_an_unknown_task_lists_the_known_ones():
    with pytest.raises(ValueError, match="glue/cola, .*glue/sst2"):
        get_task("glue/sst3")


@pytest.mark.parametrize(
    ("folder", "task", "sizes", "row"),
    [
        (
            "CoLA",
            "glue/cola",
            (8551, 1043, 1063),
            {
                "sentence": "The sailors rode the breeze clear of the rocks.",
                "label": "1",
            },
        ),
        ("MRPC", "glue/mrpc", (3667, 408, 1725), None),
        (
            "SST-2",
            "glue/sst2",
            (67349, 872, 1821),
            {
                "sentence": "it 's a charming and often affecting journey . ",
                "label": "1",
            },
        ),
    ],
)
def test_official_files(shared, folder, task, sizes, row):
    task = get_task(task)
    splits = [
        task.read(shared / "data" / "glue" / folder, split)
        for split in ("train", "validation", "test")
    ]
    assert tuple(map(len, splits)) == sizes
    assert {row["label"] for row in splits[0]} == set(task.labels)
    assert set(splits[2][0]) == set(task.text_fields)
    if row:
        assert splits[1][0] == row
    else:  # quotes of MRPC are part of the text
        assert splits[1][0]["sentence2"].startswith('" The foodservice')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ("a", "b", "a")}, "have one of them twice"),
        ({"metrics": ()}, "There are no metrics; give at least one"),
        (
            {"metrics": ("f1",), "labels": ("a", "b", "c")},
            "f1 is of the second",
        ),
        (
            {"test_files": {"test": "predictions.tsv"}},
            "must differ from each other, and from predictions",
        ),
        ({"test_files": {"a": "x.tsv", "b": "x.csv"}}, "must differ"),
    ],
)
def test_a_task_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(get_task("glue/cola"), **change)


_TASK_FILE = """
from keras_bert.tasks import readers
from keras_bert.tasks.base import Task

TASKS = {
    "boolq": Task(
        head="classification",
        text_fields=("question", "passage"),
        labels=("false", "true"),
        metrics=("accuracy",),
        read=readers.jsonl(train="train.jsonl", validation="val.jsonl"),
    ),
}
"""


def test_a_task_file_of_the_users_own(tmp_path):
    file = tmp_path / "boolq.py"
    file.write_text(_TASK_FILE)
    (tmp_path / "train.jsonl").write_text(
        '{"question": "Is ice cold?", "passage": "It is.", "label": true}\n'
    )
    for name in (str(file), f"{file}:boolq"):
        task = get_task(name)
        rows = task.read(tmp_path, "train")
        assert rows[0]["label"] == task.labels[1]
    with pytest.raises(ValueError, match="defines the tasks boolq; name one"):
        get_task(f"{file}:bool")
    with pytest.raises(FileNotFoundError, match="No task file at"):
        get_task(str(tmp_path / "absent.py"))
    with pytest.raises(FileNotFoundError, match="has no test file"):
        task.read(tmp_path, "test")


def test_tsv_by_name_by_number_and_without_header(tmp_path):
    (tmp_path / "a.tsv").write_bytes(
        '\ufefflabel\ttext\r\n1\t"quoted\r\n0\tb \u2028c\r\n'.encode()
    )
    expected = [
        {"text": '"quoted', "label": "1"},
        {"text": "b \u2028c", "label": "0"},
    ]
    for columns in (
        {"text": "text", "label": "label"},
        {"text": 1, "label": 0},
    ):
        read = readers.tsv(train="a.tsv", validation="a.tsv", columns=columns)
        assert read(tmp_path, "train") == expected
    read = readers.tsv(
        train="a.tsv", validation="a.tsv", columns={"text": 1}, header=False
    )
    assert read(tmp_path, "train")[0] == {"text": "text"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label\ttext\n1\ta\nb\n", "Line 3 of .*a.tsv has 1 columns, .* 2"),
        ("label\tsentence\n1\ta\n", "no column 'text'; its header is"),
        ("label\ttext\n", "holds no example"),
        ("", "no column"),
    ],
)
def test_a_bad_tsv_is_named(tmp_path, text, message):
    (tmp_path / "a.tsv").write_text(text)
    read = readers.tsv(
        train="a.tsv",
        validation="b.tsv",
        columns={"text": "text", "label": "label"},
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "train")
    with pytest.raises(
        FileNotFoundError, match="No validation file at .*b.tsv"
    ):
        read(tmp_path, "validation")


@pytest.mark.parametrize("line", ["{", "[1]", ""])
def test_a_bad_json_line_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(json.dumps({"a": "b"}) + f"\n{line}\n")
    read = readers.jsonl(train="a.jsonl", validation="a.jsonl")
    with pytest.raises(ValueError, match="Line 2 of .*a.jsonl is not a JSON"):
        read(tmp_path, "train")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": "guess"}, "head 'guess' is not one of"),
        ({"labels": ()}, "do not fit head 'classification'"),
        ({"head": "regression"}, "do not fit head 'regression'"),
        ({"text_fields": ()}, "must be 1 or 2 fields"),
        ({"metrics": ("bleu",)}, r"\['bleu'\] of a classification task"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(change, message):
    values = {
        "head": "classification",
        "text_fields": ("text",),
        "labels": ("a", "b"),
        "metrics": ("accuracy",),
        "read": lambda data_dir, split: [],
    }
    Task(**values)
    with pytest.raises(ValueError, match=message):
        Task(**values | change)


def test_metrics():
    gold = np.array([1, 1, 1, 0, 0])
    predicted = np.array([1, 1, 0, 1, 0])
    values = {
        name: METRICS[head][name](gold, predicted)
        for head in ("classification", "regression", "multiple_choice")
        for name in METRICS[head]
    }
    assert values == pytest.approx(
        {
            "accuracy": 3 / 5,
            "f1": 2 / 3,
            "matthews": 1 / 6,
            "pearson": 1 / 6,
            "spearman": 1 / 6,
        }
    )


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_one_number_correlates_with_nothing(name):
    assert np.isnan(METRICS["regression"][name]([2.5], [1.0]))
