from collections import Counter

import pytest

from keras_bert.errors import InputError
from keras_bert.tasks.conll import conll
from keras_bert.tasks.registry import get_task

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def _read(tmp_path, text, **columns):
    (tmp_path / "a.txt").write_bytes(text.encode())
    read = conll(
        train="a.txt", validation="absent.txt", labels=LABELS, **columns
    )
    return list(read(tmp_path, "train"))


def test_columns_with_spaces_or_tabs(tmp_path):
    # A no-break space is part of a word, and so is U+0085.
    rows = _read(
        tmp_path,
        "\ufeff-DOCSTART- -X- O\n\nAda  NN B-PER\n\u00a0Lovelace\tNN\tI-PER\n"
        " \t\r\n\nin IN O\r\n-DOCSTART- -X- O\nBa\u0085th NN B-LOC",
    )
    assert rows == [
        {"words": ["Ada", "\u00a0Lovelace"], "label": ["B-PER", "I-PER"]},
        {"words": ["in"], "label": ["O"]},
        {"words": ["Ba\u0085th"], "label": ["B-LOC"]},
    ]


def test_other_columns(tmp_path):
    rows = _read(
        tmp_path, "1 O Ada x\n2 B-LOC Bath x\n", word_column=2, tag_column=1
    )
    assert rows == [{"words": ["Ada", "Bath"], "label": ["O", "B-LOC"]}]


def test_a_file_with_words_only_has_no_labels(tmp_path):
    rows = _read(tmp_path, "Ada\nwrote\n\nBath\n")
    assert rows == [{"words": ["Ada", "wrote"]}, {"words": ["Bath"]}]


@pytest.mark.parametrize(
    ("iob1", "bio"),
    [
        ("I-PER I-PER O I-LOC", "B-PER I-PER O B-LOC"),
        ("I-PER I-LOC B-LOC I-LOC", "B-PER B-LOC B-LOC I-LOC"),
        ("O I-PER B-PER I-PER", "O B-PER B-PER I-PER"),
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC"),  # BIO already
        ("B-PER I-LOC I-LOC", "B-PER B-LOC I-LOC"),
    ],
)
def test_iob1_becomes_bio(tmp_path, iob1, bio):
    # A blank line also ends an entity.
    lines = "".join(f"w {tag}\n" for tag in iob1.split())
    rows = _read(tmp_path, f"w I-LOC\n\n{lines}")
    assert rows[1]["label"] == bio.split()
    assert rows[0]["label"] == ["B-LOC"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a NN O\n\nb O\n", "Line 3 of .*a.txt has 2 columns, but .* 3"),
        ("a O\nb I-ORG\n", "Line 2 of .*a.txt has the tag 'I-ORG', but"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        _read(tmp_path, text)


def test_columns_that_do_not_exist(tmp_path):
    with pytest.raises(InputError, match="2 columns and no column 3"):
        _read(tmp_path, "a O\n", tag_column=3)
    with pytest.raises(InputError, match="2 columns and no column -3"):
        _read(tmp_path, "a O\n", word_column=-3)


def test_conll2003(shared):
    task = get_task("ner/conll2003")
    folder = shared / "data" / "conll2003"
    splits = {
        split: list(task.read(folder, split))
        for split in ("train", "validation", "test")
    }
    assert [len(rows) for rows in splits.values()] == [14041, 3250, 3453]
    assert splits["train"][1] == {
        "words": ["Peter", "Blackburn"],
        "label": ["B-PER", "I-PER"],
    }
    tags = Counter(tag for row in splits["test"] for tag in row["label"])
    assert set(tags) == set(task.labels)
    assert tags["B-PER"] == 1617 and tags["O"] == 38554 - 231  # -DOCSTART-
