import json

import pyarrow
import pytest
from pyarrow import parquet

from keras_bert.errors import InputError
from keras_bert.tasks import readers


@pytest.fixture
def read(tmp_path):
    """Writes a file, and reads it as the training set."""

    def read(make, content, split="train", **options):
        if isinstance(content, str):
            content = content.encode()
        name = f"a.{make.__name__}"
        (tmp_path / name).write_bytes(content)
        return list(make(**{split: name}, **options)(tmp_path, split))

    return read


BOTH = {"text": "text", "label": "label"}


def test_tsv_by_name_by_number_and_without_header(read):
    content = '\ufefflabel\ttext\r\n1\t"quoted\r\n0\tb \u2028c\r\n'
    expected = [
        {"text": '"quoted', "label": "1"},
        {"text": "b \u2028c", "label": "0"},
    ]
    for columns, header in ((BOTH, None), ({"text": 1, "label": 0}, True)):
        rows = read(readers.tsv, content, columns=columns, header=header)
        assert rows == expected
    rows = read(readers.tsv, content, columns={"text": 1}, header=False)
    assert rows[0] == {"text": "text"}


def test_a_wrong_json_line_is_named(read):
    with pytest.raises(InputError, match="Line 2 of .*a.jsonl is not a JSON"):
        read(readers.jsonl, '{"a": "b"}\n{\n')


@pytest.mark.parametrize(
    ("line", "count"), [("1\ta\tb", 3), ("1", 1), ("1\ta\t", 3)]
)
@pytest.mark.parametrize("header", [True, False])
def test_each_line_has_as_many_columns_as_the_first(read, line, count, header):
    content = f"label\ttext\n0\tb\n{line}\n1\tc\n"
    columns = {"text": 1, "label": 0}
    message = f"Line 3 of .*a.tsv has {count} columns, but 2 are expected"
    with pytest.raises(InputError, match=message):
        read(readers.tsv, content, columns=columns, header=header)


def test_splits_without_labels_and_unknown_splits(tmp_path):
    (tmp_path / "a.tsv").write_text("label\ttext\n1\ta\n")
    (tmp_path / "b.tsv").write_text("text\nb\n")
    read = readers.tsv(
        columns=BOTH,
        train="a.tsv",
        validation="absent.tsv",
        validation_2="a.tsv",
        test_2="b.tsv",
        other="b.tsv",
    )
    for split in ("train", "validation_2"):
        assert list(read(tmp_path, split)) == [{"text": "a", "label": "1"}]
    for split in ("test_2", "other"):
        assert list(read(tmp_path, split)) == [{"text": "b"}]
    for split, message in (
        ("test", "has no test file"),
        ("validation", "There is no validation file at .*absent.tsv"),
    ):
        with pytest.raises(FileNotFoundError, match=message):
            read(tmp_path, split)


def test_csv_with_quotes_and_line_breaks(read):
    content = '\ufeff,text,label\r\n0,"a ""b"", c\nd",1\r\n\r\n1,e,0\r\n'
    for text in ("text", 1):
        columns = {"text": text, "label": "label"}
        assert read(readers.csv, content, columns=columns) == [
            {"text": 'a "b", c\nd', "label": "1"},
            {"text": "e", "label": "0"},
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,label\na,1\nb\n", "Line 3 of .*a.csv has 1 columns, but 2 are"),
        ('text,label\n"a\nb",1\nc,1,2\n', "Line 4 of .* has 3 columns, but 2"),
        ("", "a.csv is empty"),
        ('text,label\n"a,1\nb,1\n', "Line 3 of .*a.csv is not CSV: .* quotes"),
    ],
)
def test_a_bad_csv_is_named(read, text, message):
    with pytest.raises(InputError, match=message):
        read(readers.csv, text, columns=BOTH)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_csv_with_other_delimiters(read, delimiter):
    content = 'id;text;label\n1;"a, ""b"";\nc";0\n'.replace(";", delimiter)
    for text in ("text", 1):
        columns = {"text": text, "label": "label"}
        assert read(readers.csv, content, columns=columns) == [
            {"text": f'a, "b"{delimiter}\nc', "label": "0"}
        ]


def test_csv_with_one_column_that_is_read_by_its_number(read):
    columns = {"text": 0, "label": 1}
    for header, rows in (
        (True, [{"text": "a, b"}]),
        (False, [{"text": "text"}, {"text": "a, b"}]),
    ):
        options = {"columns": columns, "header": header}
        found = read(readers.csv, "text;id\na, b;7\n", "test", **options)
        assert found == rows


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("3.5,5;4;10 feet\n", "5;4;10 feet"),
        ("1,a\tb\tc\n", "a\tb\tc"),
        ("1;a b\n", "a b"),
        # Only with semicolons, each row has as many columns.
        ("1;a, b;7\n0;c;8\n", "a, b"),
    ],
)
def test_the_delimiter_of_numbered_columns(read, content, text):
    columns = {"label": 0, "text": 1}
    row, *_ = read(readers.csv, content, columns=columns, header=False)
    assert row["text"] == text


@pytest.mark.parametrize("make", [readers.tsv, readers.csv])
def test_columns_that_are_counted_from_the_end(read, make):
    columns = {"label": -1, "text": -3}
    content = "a, b;7;1\nc, d;8;0\n"
    if make is readers.tsv:
        content = content.replace(";", "\t")
    rows = read(make, content, columns=columns, header=False)
    assert rows[1] == {"label": "0", "text": "c, d"}
    with pytest.raises(InputError, match="columns, but 4 are expected"):
        read(make, content, columns={"text": -4}, header=False)


@pytest.mark.parametrize("make", [readers.tsv, readers.csv])
def test_numbers_do_not_show_whether_there_is_a_header(make):
    with pytest.raises(InputError, match="give header=True or header=False"):
        make(columns={"text": 0, "label": 1}, train="a")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_of_csv_names_the_fields(read, delimiter):
    lines = [['"text"', '"label"'], ['"a, b; c"', "x"], ["", "y"]]
    text = "\n".join(map(delimiter.join, lines)) + "\n"
    rows = [{"text": "a, b; c", "label": "x"}, {"text": "", "label": "y"}]
    assert read(readers.csv, text) == rows
    assert read(readers.csv, text, "test") == [
        {"text": x["text"]} for x in rows
    ]
    columns = {"text": "text", "label": 1}
    assert read(readers.csv, text, columns=columns) == rows


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('"a ""good"" film"', 'a "good" film'),  # Excel wrote these two
        ('""""', '"'),
        ('"a film"', '"a film"'),  # these are in MRPC and STS-B, or might be
        ('"a film', '"a film'),
        ('"a" and "b"', '"a" and "b"'),
        ('a ""film""', 'a ""film""'),
        ('"a "" b" c"', '"a "" b" c"'),
        ('""', '""'),
    ],
)
def test_quotes_of_tsv_are_text_unless_excel_wrote_them(read, field, text):
    rows = read(readers.tsv, f"text\tlabel\n{field}\t1\n", columns=BOTH)
    assert rows == [{"text": text, "label": "1"}]


def test_json_keeps_strings_and_lists_and_writes_numbers(read):
    row = {
        "endings": ["a", "b", "c"],
        "label": 2,
        "right": True,
        "score": 0.5,
        "text": "2",
        "more": {"a": None},
        "absent": None,
    }
    assert read(readers.jsonl, "\n" + json.dumps(row) + "\n \n") == [
        {
            "endings": ["a", "b", "c"],
            "label": "2",
            "right": "true",
            "score": "0.5",
            "text": "2",
            "more": {"a": None},
        }
    ]


def test_parquet_by_name_with_lists_and_other_values_as_json(tmp_path):
    columns = {"number": [7, 8], "words": [["a", "b"], None], "label": [1, 0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    named = {"text": "number", "words": "words", "label": "label"}
    read = readers.parquet(columns=named, train="a.parquet", test="a.parquet")
    assert list(read(tmp_path, "train")) == [
        {"text": "7", "words": ["a", "b"], "label": "1"},
        {"text": "8", "label": "0"},
    ]
    assert next(read(tmp_path, "test")) == {"text": "7", "words": ["a", "b"]}
    read = readers.parquet(columns={"text": "texts"}, train="a.parquet")
    with pytest.raises(InputError, match="has no column 'texts'; its header"):
        list(read(tmp_path, "train"))
    (tmp_path / "a.parquet").write_text("text\n")
    with pytest.raises(InputError, match="a.parquet is not Parquet"):
        list(read(tmp_path, "train"))


def test_without_columns_a_csv_has_a_header():
    with pytest.raises(InputError, match="give the columns, or leave header"):
        readers.csv(header=False, train="a.csv")


def test_the_names_in_objects_may_differ_from_the_fields(read):
    lines = (
        '{"question": "who", "y": 1, "z": 2}\n{"question": "I", "in": "a"}\n'
    )
    columns = {"text": "question", "label": "y", "context": "in"}
    assert read(readers.jsonl, lines, columns=columns) == [
        {"text": "who", "label": "1"},
        {"text": "I", "context": "a"},
    ]
    columns["context"] = "it"
    with pytest.raises(InputError, match=r"No line of .*a.jsonl has 'it'"):
        read(readers.jsonl, lines, columns=columns)
    columns = {"label": "no", "text": "y"}
    rows = read(readers.jsonl, lines, "test", columns=columns)
    assert rows == [{"text": "1"}, {}]
