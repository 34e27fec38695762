import dataclasses

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.kinds.spec import build_kind, make_spec
from keras_bert.tasks.registry import get_task, known_tasks
from keras_bert.text.tokenizer import BertTokenizer


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("name", sorted(known_tasks()))
def test_the_examples_of_every_task_can_be_learned(name, config, vocab_file):
    task = get_task(name)
    rows = list(task.examples)
    assert len(rows) >= 2
    for row in rows:
        assert set(row) >= set(task.text_fields)
    settings = {"max_seq_length": 16}
    if task.kind == "span":
        settings |= {"max_query_length": 6, "doc_stride": 3}
    kind = build_kind(
        make_spec(task, settings), BertTokenizer(vocab_file), config
    )
    examples = kind.encode(rows, labeled=True)
    assert set(examples.rows) == set(range(len(rows)))
    features, labels, _ = examples.batch(np.arange(len(examples.rows)))
    assert features["input_ids"].shape[0] == len(examples.rows)
    assert set(labels) == set(kind.objectives)
    values = [np.unique(x.numpy()).size for x in labels.values()]
    assert max(values) > 1


def test_an_unknown_task_lists_the_known_ones():
    with pytest.raises(InputError, match="glue/cola, .*glue/sst2"):
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
        list(task.read(shared / "data" / "glue" / folder, split))
        for split in ("train", "validation", "test")
    ]
    assert tuple(map(len, splits)) == sizes
    assert {row["label"] for row in splits[0]} == set(task.labels)
    assert set(splits[2][0]) == set(task.text_fields)
    if row:
        assert splits[1][0] == row
    else:  # the quotes of MRPC are part of the text
        assert splits[1][0]["sentence2"].startswith('" The foodservice')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ("a", "b", "a")}, "One of the labels .* occurs twice"),
        ({"metrics": ()}, "The task has no metrics; give at least one"),
        (
            {"test_files": {"test": "predictions.tsv"}},
            "must differ from each other and from predictions",
        ),
        ({"test_files": {"a": "x.tsv", "b": "x.csv"}}, "must differ"),
    ],
)
def test_a_task_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(get_task("glue/cola"), **change)


_TASK_FILE = """
from keras_bert.tasks import readers
from keras_bert.tasks.base import Task

TASKS = {
    "boolq": Task(
        kind="classification",
        text_fields=("question", "passage"),
        labels=("false", "true"),
        metrics=("accuracy",),
        read=readers.jsonl(train="train.jsonl", validation="val.jsonl"),
    ),
}
"""


def test_a_task_in_a_file_of_its_own(tmp_path):
    file = tmp_path / "boolq.py"
    file.write_text(_TASK_FILE)
    (tmp_path / "train.jsonl").write_text(
        '{"question": "Is ice cold?", "passage": "It is.", "label": true}\n'
    )
    for name in (str(file), f"{file}:boolq"):
        task = get_task(name)
        rows = list(task.read(tmp_path, "train"))
        assert rows[0]["label"] == task.labels[1]
    with pytest.raises(InputError, match="defines the tasks boolq; name one"):
        get_task(f"{file}:bool")
    with pytest.raises(FileNotFoundError, match="No task file at"):
        get_task(str(tmp_path / "absent.py"))
    with pytest.raises(FileNotFoundError, match="has no test file"):
        list(task.read(tmp_path, "test"))
