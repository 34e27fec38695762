import dataclasses

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.kinds.spec import build_kind, make_spec
from keras_bert.tasks.registry import get_task, known_tasks
from keras_bert.text.tokenizer import BertTokenizer

_CONTEXT = "The quick fox jumped over the lazy dog."


def _rows(task):
    """Returns two rows of a task, with labels that differ."""
    values, labels = {
        "classification": (["a film", "a dog"], task.labels[-2:]),
        "regression": (["a film", "a dog"], ("0.2", "4.8")),
        "embedding": (["a film", "a dog", "bad"], ("0.2", "4.8")),
        "multiple_choice": (["a film", ["is good", "jumped", "a"]], "02"),
        "token_classification": (
            [["the", "dog", "jumped"]],
            (["O", *task.labels[1:3]], [*task.labels[1:3], "O"]),
        ),
        "span": (
            ["What is lazy?", _CONTEXT],
            (
                [{"text": "dog", "answer_start": _CONTEXT.index("dog")}],
                [{"text": "fox", "answer_start": _CONTEXT.index("fox")}],
            ),
        ),
    }[task.kind]
    texts = dict(zip(task.text_fields, values, strict=False))
    if task.settings.get("loss") == "multiple_negatives":
        return [texts, texts]
    return [texts | {"label": label} for label in labels]


@pytest.mark.usefixtures("eagerly")
def test_every_task_can_be_learned(config, vocab_file):
    tokenizer = BertTokenizer(vocab_file)
    seen = []
    tasks = known_tasks()
    for name, task in tasks.items():
        rows = _rows(task)
        settings = {"max_seq_length": 16}
        if task.kind == "span":
            settings |= {"max_query_length": 6, "doc_stride": 3}
        spec = make_spec(task, settings)
        kind = build_kind(spec, tokenizer, config)
        if "label" in rows[0]:
            assert len(kind.gold(rows)) == len(rows), name
        loss = task.settings.get("loss")
        form = (task.kind, len(task.text_fields), loss)
        if form in seen:  # another task shows how it is encoded
            continue
        seen.append(form)
        examples = kind.encode(rows, labeled=True)
        assert set(examples.rows) == set(range(len(rows)))
        features, labels, _ = examples.batch(np.arange(len(examples.rows)))
        assert features["input_ids"].shape[0] == len(examples.rows)
        assert set(labels) == set(kind.objectives)
        values = [np.unique(x.numpy()).size for x in labels.values()]
        assert max(values) > 1, name
    assert {kind for kind, *_ in seen} == {x.kind for x in tasks.values()}


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
            "WNLI",
            "glue/wnli",
            (635, 71, 146),
            {
                "sentence1": "The drain is clogged with hair. It has to be "
                "cleaned.",
                "sentence2": "The hair has to be cleaned.",
                "label": "0",
            },
        ),
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
        ({"metrics": ()}, "The task has no metrics; give at least one"),
        ({"validation_splits": ()}, "The task has no validation_splits; give"),
        (
            {"test_files": {"test": "predictions.tsv"}},
            "must differ from each other and from 'predictions'",
        ),
        ({"test_files": {"a": "x.tsv", "b": "x.csv"}}, "must differ"),
        ({"test_files": {"test": "x.jsonl"}}, "; write x.tsv"),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nTASKS = {(\n", "own.py, line 2, is not Python: '\\(' was never"),
        ("import no_such_package", "own.py cannot be imported: No module"),
    ],
)
def test_a_task_file_that_defines_no_task_is_named(tmp_path, text, message):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(InputError, match=message):
        get_task(str(tmp_path / "own.py"))
