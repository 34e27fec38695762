import csv
from collections import Counter

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
