import gzip
import json

import pyarrow
import pytest
from pyarrow import parquet

from keras_bert.errors import InputError
from keras_bert.tasks import readers


def test_tsv_by_name_by_number_and_without_header(tmp_path):
    (tmp_path / "a.tsv").write_bytes(
        '\ufefflabel\ttext\r\n1\t"quoted\r\n0\tb \u2028c\r\n'.encode()
    )
    expected = [
        {"text": '"quoted', "label": "1"},
        {"text": "b \u2028c", "label": "0"},
    ]
    for columns, header in (
        ({"text": "text", "label": "label"}, None),
        ({"text": 1, "label": 0}, True),
    ):
        read = readers.tsv(train="a.tsv", columns=columns, header=header)
        assert list(read(tmp_path, "train")) == expected
    read = readers.tsv(
        train="a.tsv", validation="a.tsv", columns={"text": 1}, header=False
    )
    assert list(read(tmp_path, "train"))[0] == {"text": "text"}


def test_compressed_files(tmp_path):
    rows = b'{"text": "\xc3\xa9lan"}\n{"text": "b"}\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(rows))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(rows)[:-9])
    (tmp_path / "plain.jsonl.gz").write_bytes(rows)
    read = readers.jsonl(
        train="a.jsonl.gz", cut="cut.jsonl.gz", plain="plain.jsonl.gz"
    )
    assert list(read(tmp_path, "train")) == [{"text": "élan"}, {"text": "b"}]
    for split in ("cut", "plain"):
        with pytest.raises(InputError, match=f"{split}.* not a whole gzip"):
            list(read(tmp_path, split))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label\tsentence\n1\ta\n", "no column 'text'; its header is"),
        ("label\ttext\n", "contains no example"),
        ("", "a.tsv is empty"),
        ("text\ttext\tlabel\n", "has two columns 'text'"),
    ],
)
def test_a_bad_tsv_is_named(tmp_path, text, message):
    (tmp_path / "a.tsv").write_text(text)
    read = readers.tsv(
        train="a.tsv",
        validation="b.tsv",
        columns={"text": "text", "label": "label"},
    )
    with pytest.raises(InputError, match=message):
        list(read(tmp_path, "train"))
    with pytest.raises(
        FileNotFoundError, match="There is no validation file at .*b.tsv"
    ):
        read(tmp_path, "validation")


@pytest.mark.parametrize("line", ["{", "[1]", '{"a": NaN}'])
def test_a_wrong_json_line_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(json.dumps({"a": "b"}) + f"\n{line}\n")
    read = readers.jsonl(train="a.jsonl", validation="a.jsonl")
    with pytest.raises(InputError, match="Line 2 of .*a.jsonl is not a JSON"):
        list(read(tmp_path, "train"))


@pytest.mark.parametrize(
    ("line", "count"), [("1\ta\tb", 3), ("1", 1), ("1\ta\t", 3)]
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
    with pytest.raises(InputError, match=message):
        list(read(tmp_path, "train"))


def test_the_number_of_a_column_that_does_not_exist(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ta\n0\tb\n")
    read = readers.tsv(columns={"text": 2}, header=False, train="a.tsv")
    message = "Line 1 of .*a.tsv has 2 columns, but 3 are expected"
    with pytest.raises(InputError, match=message):
        list(read(tmp_path, "train"))


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
        assert list(read(tmp_path, split)) == [{"text": "a", "label": "1"}]
    for split in ("test_2", "other"):
        assert list(read(tmp_path, split)) == [{"text": "b"}]
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
        assert list(read(tmp_path, "train")) == [
            {"text": 'a "b", c\nd', "label": "1"},
            {"text": "e", "label": "0"},
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,label\na,1\nb\n", "Line 3 of .*a.csv has 1 columns, but 2 are"),
        ('text,label\n"a\nb",1\nc,1,2\n', "Line 4 of .* has 3 columns, but 2"),
        ("text\na\n", "no column 'label'; its header is"),
        ("text,label\n", "contains no example"),
        ("", "a.csv is empty"),
        ("review;label\n", "no column 'text'; its header is .'review;label'"),
        ('text,label\n"a,1\nb,1\n', "Line 3 of .*a.csv is not CSV: .* quotes"),
    ],
)
def test_a_bad_csv_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    read = readers.csv(
        columns={"text": "text", "label": "label"}, train="a.csv"
    )
    with pytest.raises(InputError, match=message):
        list(read(tmp_path, "train"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_csv_with_other_delimiters(tmp_path, delimiter):
    (tmp_path / "a.csv").write_text(
        'id;text;label\n1;"a, ""b"";\nc";0\n'.replace(";", delimiter)
    )
    for text in ("text", 1):
        read = readers.csv(
            columns={"text": text, "label": "label"}, train="a.csv"
        )
        assert list(read(tmp_path, "train")) == [
            {"text": f'a, "b"{delimiter}\nc', "label": "0"}
        ]


def test_csv_with_one_column_that_is_read_by_its_number(tmp_path):
    (tmp_path / "a.csv").write_text("text;id\na, b;7\n")
    columns = {"text": 0, "label": 1}
    for header, rows in (
        (True, [{"text": "a, b"}]),
        (False, [{"text": "text"}, {"text": "a, b"}]),
    ):
        read = readers.csv(columns=columns, header=header, test="a.csv")
        assert list(read(tmp_path, "test")) == rows


@pytest.mark.parametrize("make", [readers.tsv, readers.csv])
def test_numbers_do_not_show_whether_there_is_a_header(make):
    with pytest.raises(InputError, match="give header=True or header=False"):
        make(columns={"text": 0, "label": 1}, train="a")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_of_csv_names_the_fields(tmp_path, delimiter):
    lines = [['"text"', '"label"'], ['"a, b; c"', "x"], ["", "y"]]
    text = "\n".join(map(delimiter.join, lines))
    (tmp_path / "a.csv").write_text(text + "\n")
    read = readers.csv(train="a.csv", test="a.csv")
    rows = [{"text": "a, b; c", "label": "x"}, {"text": "", "label": "y"}]
    assert list(read(tmp_path, "train")) == rows
    assert list(read(tmp_path, "test")) == [{"text": x["text"]} for x in rows]
    read = readers.csv(columns={"text": "text", "label": 1}, train="a.csv")
    assert list(read(tmp_path, "train")) == rows


def test_a_long_field_of_csv(tmp_path):
    (tmp_path / "a.csv").write_text("text\n" + 140_000 * "a" + "\n")
    read = readers.csv(columns={"text": "text"}, train="a.csv")
    assert list(read(tmp_path, "train")) == [{"text": 140_000 * "a"}]


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
def test_quotes_of_tsv_are_text_unless_excel_wrote_them(tmp_path, field, text):
    (tmp_path / "a.tsv").write_text(f"text\tlabel\n{field}\t1\n")
    columns = {"text": "text", "label": "label"}
    read = readers.tsv(columns=columns, train="a.tsv")
    assert list(read(tmp_path, "train")) == [{"text": text, "label": "1"}]


def test_json_keeps_strings_and_lists_and_writes_numbers(tmp_path):
    row = {
        "endings": ["a", "b", "c"],
        "label": 2,
        "right": True,
        "score": 0.5,
        "text": "2",
        "more": {"a": None},
        "absent": None,
    }
    (tmp_path / "a.jsonl").write_text("\n" + json.dumps(row) + "\n \n")
    (tmp_path / "b.jsonl").write_text("")
    read = readers.jsonl(train="a.jsonl", validation="b.jsonl")
    assert list(read(tmp_path, "train")) == [
        {
            "endings": ["a", "b", "c"],
            "label": "2",
            "right": "true",
            "score": "0.5",
            "text": "2",
            "more": {"a": None},
        }
    ]
    with pytest.raises(InputError, match="b.jsonl contains no example"):
        list(read(tmp_path, "validation"))


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


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "a.tsv").write_bytes("text\nSchön\n".encode("latin-1"))
    read = readers.tsv(columns={"text": "text"}, train="a.tsv")
    with pytest.raises(InputError, match="a.tsv is not UTF-8"):
        list(read(tmp_path, "train"))


def test_the_names_in_objects_may_differ_from_the_fields(tmp_path):
    lines = (
        '{"question": "who", "y": 1, "z": 2}\n{"question": "I", "in": "a"}\n'
    )
    (tmp_path / "a.jsonl").write_text(lines)
    columns = {"text": "question", "label": "y", "context": "in"}
    read = readers.jsonl(columns=columns, train="a.jsonl")
    assert list(read(tmp_path, "train")) == [
        {"text": "who", "label": "1"},
        {"text": "I", "context": "a"},
    ]
    columns["context"] = "it"
    read = readers.jsonl(columns=columns, train="a.jsonl")
    with pytest.raises(InputError, match=r"No line of .*a.jsonl has 'it'"):
        list(read(tmp_path, "train"))
    read = readers.jsonl(columns={"label": "no", "text": "y"}, test="a.jsonl")
    assert list(read(tmp_path, "test")) == [{"text": "1"}, {}]
