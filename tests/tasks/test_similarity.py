import gzip
import json

import pytest

from keras_bert.errors import InputError
from keras_bert.tasks.registry import get_task

TASK = get_task("embedding/nli")


def _write(folder, *lines, name="a.jsonl"):
    (folder / "nli").mkdir(exist_ok=True)
    fields = ("premise", "hypothesis", "label")
    text = "".join(
        json.dumps(dict(zip(fields, line, strict=False))) + "\n"
        for line in lines
    ).encode()
    data = gzip.compress(text) if name.endswith(".gz") else text
    (folder / "nli" / name).write_bytes(data)


def test_triplets_of_all_files(tmp_path):
    _write(
        tmp_path,
        ("p", "p1", "entailment"),
        ("no contradiction", "x", "entailment"),
        ("p", "p2", "entailment"),
        ("p", "p0", "neutral"),
        ("no entailment", "y", "contradiction"),
        ("p", "p1", "entailment"),
        ("q", "q1", "entailment"),
        ("q", "q8", "contradiction"),
        ("q", "q9", "contradiction"),
        ("q", "q7", "-"),
    )
    _write(
        tmp_path,
        ("p", "p8", "contradiction"),
        ("p", "p9", "contradiction"),
        ("p", "p3", "entailment"),
        name="b.jsonl.gz",
    )
    rows = [tuple(row.values()) for row in TASK.read(tmp_path, "train")]
    assert rows == [
        ("p", "p1", "p8"),
        ("p", "p2", "p9"),
        ("p", "p3", "p8"),
        ("q", "q1", "q8"),
    ]
    assert set(next(TASK.read(tmp_path, "train"))) == set(TASK.text_fields)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ("p", "h", "maybe"),
            "Row 1 of .*a.jsonl has .*'maybe'}, but",
        ),
        (("p", "h"), "'label': None"),
        (("p",), "'hypothesis': None"),
        (("p", "h", "neutral"), "No premise in .*nli has both an entailment"),
    ],
)
def test_wrong_files_are_named(tmp_path, line, message):
    _write(tmp_path, line)
    with pytest.raises(InputError, match=message):
        list(TASK.read(tmp_path, "train"))


def test_an_absent_folder_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="give the folder that contains"
    ):
        TASK.read(tmp_path, "train")


def test_the_shared_files(shared):
    rows = list(TASK.read(shared / "data", "train"))
    assert len(rows) == 12_369
    assert all(len(set(row.values())) > 1 for row in rows)
    scored = list(TASK.read(shared / "data", "validation"))
    assert len(scored) == 1500
    assert set(scored[0]) == {"sentence1", "sentence2", "label"}
    korean = get_task("embedding/korsts")
    second = list(korean.read(shared / "data/korsts", "validation"))[1]
    assert second["sentence2"] == "아이가 말을 타고 있다."
