import json

import pytest

from keras_bert.tasks import readers


@pytest.mark.parametrize(
    ("line", "count"), [("1\ta\tb", 3), ("1", 1), ("", 1), ("1\ta\t", 3)]
)
@pytest.mark.parametrize("header", [True, False])
def test_each_line_has_as_many_columns_as_the_first(
    tmp_path, line, count, header
):
    (tmp_path / "a.tsv").write_text(f"label\ttext\n0\tb\n{line}\n1\tc\n")
    read = readers.tsv(
        columns={"text": 1, "label": 0}, header=header, train="a.tsv"
    )
    message = f"Line 3 of .*a.tsv has {count} columns, but 2 are expected"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "train")


def test_a_number_of_a_column_that_is_not_there(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ta\n0\tb\n")
    read = readers.tsv(columns={"text": 2}, header=False, train="a.tsv")
    message = "Line 1 of .*a.tsv has 2 columns, but 3 are expected"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "train")


def test_splits_without_labels_and_unknown_splits(tmp_path):
    (tmp_path / "a.tsv").write_text("label\ttext\n1\ta\n")
    (tmp_path / "b.tsv").write_text("text\nb\n")
    read = readers.tsv(
        columns={"text": "text", "label": "label"},
        train="a.tsv",
        validation_2="a.tsv",
        test_2="b.tsv",
        other="b.tsv",
    )
    for split in ("train", "validation_2"):
        assert read(tmp_path, split) == [{"text": "a", "label": "1"}]
    for split in ("test_2", "other"):
        assert read(tmp_path, split) == [{"text": "b"}]
    with pytest.raises(FileNotFoundError, match="has no validation file"):
        read(tmp_path, "validation")


def test_csv_with_quotes_and_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        '\ufeff,text,label\r\n0,"a ""b"", c\nd",1\r\n\r\n1,e,0\r\n'.encode()
    )
    for text in ("text", 1):
        read = readers.csv(
            columns={"text": text, "label": "label"}, train="a.csv"
        )
        assert read(tmp_path, "train") == [
            {"text": 'a "b", c\nd', "label": "1"},
            {"text": "e", "label": "0"},
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,label\na,1\nb\n", "Line 3 of .*a.csv has 1 columns, but 2 are"),
        ('text,label\n"a\nb",1\nc,1,2\n', "Line 4 of .* has 3 columns, but 2"),
        ("text\na\n", "no column 'label'; its header is"),
        ("text,label\n", "holds no example"),
        ("", "no column 'text'"),
        ('text,label\n"a,1\nb,1\n', "Line 3 of .*a.csv is not CSV: .* quotes"),
    ],
)
def test_a_bad_csv_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    read = readers.csv(
        columns={"text": "text", "label": "label"}, train="a.csv"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "train")


def test_json_keeps_lists_and_makes_strings_of_the_rest(tmp_path):
    row = {
        "endings": ["a", "b", "c"],
        "label": 2,
        "right": True,
        "score": 0.5,
        "text": "2",
        "more": {"a": None},
        "absent": None,
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "b.jsonl").write_text("")
    read = readers.jsonl(train="a.jsonl", validation="b.jsonl")
    assert read(tmp_path, "train") == [
        {
            "endings": ["a", "b", "c"],
            "label": "2",
            "right": "true",
            "score": "0.5",
            "text": "2",
            "more": '{"a": null}',
        }
    ]
    with pytest.raises(ValueError, match="b.jsonl holds no example"):
        read(tmp_path, "validation")


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "a.tsv").write_bytes("text\nSchön\n".encode("latin-1"))
    read = readers.tsv(columns={"text": "text"}, train="a.tsv")
    with pytest.raises(ValueError, match="a.tsv is not UTF-8"):
        read(tmp_path, "train")
