import csv
import json
from collections import Counter

import pytest

from keras_bert.errors import InputError
from keras_bert.tasks import readers
from keras_bert.tasks.registry import get_task

COLUMNS = (
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,"
    "ending2,ending3,label"
).split(",")


def _write(path, records, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="x")
        writer.writeheader()
        writer.writerows(records)


def test_swag_columns(tmp_path):
    record = {
        "sent1": 'He says, "Hi",\nand goes.',
        "sent2": "A girl",
        "ending0": "sings.",
        "ending1": "jumps, then runs.",
        "ending2": "sits.",
        "ending3": '"waves".',
        "label": 3,
    }
    for name in ("train.csv", "val.csv"):
        _write(tmp_path / name, [record])
    del record["label"]
    _write(tmp_path / "test.csv", [record], COLUMNS[:-1])
    row = {
        "context": 'He says, "Hi",\nand goes.',
        "endings": [
            "A girl sings.",
            "A girl jumps, then runs.",
            "A girl sits.",
            'A girl "waves".',
        ],
    }
    task = get_task("swag")
    for split in ("train", "validation"):
        assert list(task.read(tmp_path, split)) == [{**row, "label": "3"}]
    assert list(task.read(tmp_path, "test")) == [row]


def test_real_swag_records(shared, tmp_path):
    """The sample is JSON. The test writes it as CSV, like official files."""
    file = shared / "data" / "multiple_choice" / "swag_sample.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    _write(tmp_path / "val.csv", records)
    rows = list(get_task("swag").read(tmp_path, "validation"))
    assert len(rows) == 10
    assert [row["label"] for row in rows] == [str(r["label"]) for r in records]
    assert rows[0]["context"].startswith("Members of the procession walk")
    assert rows[0]["endings"][1] == "A drum line has heard approaching them."


def test_codah_is_split_by_the_text_to_continue(shared):
    folder = shared / "data" / "multiple_choice"
    task = get_task("codah")
    train, validation = (
        list(task.read(folder, s)) for s in ("train", "validation")
    )
    assert (len(train), len(validation)) == (2230, 546)
    texts = [{row["context"] for row in rows} for rows in (train, validation)]
    assert not texts[0] & texts[1]
    assert train[1] == {
        "context": "I am feeling nervous about my midterm tomorrow. I fear "
        "that",
        "endings": [
            "the professor will delay the midterm.",
            "I will doodle on my exam and receive points for it.",
            "my grandpa has diabetes.",
            "I will fail.",
        ],
        "label": "3",
    }
    counts = Counter(row["label"] for row in train + validation)
    assert counts == {"0": 689, "1": 684, "2": 697, "3": 706}
    with pytest.raises(FileNotFoundError, match="has no test file"):
        list(task.read(folder, "test"))


def test_a_broken_line_of_codah_is_named(tmp_path):
    line = "o\tIt was a\tb.\tc.\td.\te.\t2\n"
    (tmp_path / "codah.tsv").write_text(line + line.replace("\td.", ""))
    message = "Line 2 of .*codah.tsv has 6 columns, but 7 are expected"
    with pytest.raises(InputError, match=message):
        list(get_task("codah").read(tmp_path, "train"))


def test_any_number_of_endings_from_json(tmp_path):
    row = {"context": "It was", "endings": ["a.", "b.", "c."], "label": 2}
    (tmp_path / "train.jsonl").write_text(json.dumps(row) + "\n")
    read = readers.jsonl(train="train.jsonl")
    assert list(read(tmp_path, "train")) == [{**row, "label": "2"}]
