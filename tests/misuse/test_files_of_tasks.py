import gzip

import pyarrow
import pytest
from misuse_tables import Says, cases, check
from pyarrow import parquet

from keras_bert.errors import InputError
from keras_bert.tasks import readers
from keras_bert.tasks.conll import conll

_ROW = [{"text": "a film", "label": "1"}]
_ROWS = "text\tlabel\na film\t1\n"


@cases(
    ("quotes are text", lambda x: x.tsv('text\tlabel\nan "a" film\t1\n'),
     [{"text": 'an "a" film', "label": "1"}]),
    ("one quote is text", lambda x: x.tsv('text\tlabel\n"a film\t1\n'),
     [{"text": '"a film', "label": "1"}]),
    ("quotes around a text are text", lambda x: x.tsv('text\tlabel\n"a"\t1\n'),
     [{"text": '"a"', "label": "1"}]),
    ("quotes of Excel", lambda x: x.tsv('text\tlabel\n"a ""b"" c"\t1\n'),
     [{"text": 'a "b" c', "label": "1"}]),
    ("a line break of Excel", lambda x: x.tsv('text\tlabel\n"a\nb"\t1\n'),
     Says("check its separators and quotes")),
    ("byte-order mark and CRLF",
     lambda x: x.tsv("\ufeff" + _ROWS.replace("\n", "\r\n")), _ROW),
    ("CR alone", lambda x: x.tsv(_ROWS.replace("\n", "\r")),
     Says("end with CR alone")),
    ("CR alone, without a header", lambda x: x.tsv(
        "a\t1\rb\t0\r", columns={"text": 0, "label": 1}, header=False),
     Says("end with CR alone")),
    ("a CR in a text", lambda x: x.tsv("text\tlabel\na\rfilm\t1\n"),
     [{"text": "a\rfilm", "label": "1"}]),
    ("blank lines", lambda x: x.tsv(_ROWS + "\n  \n\n"), _ROW),
    ("a blank line without a header", lambda x: x.tsv(
        "\na film\t1\n", columns={"text": 0, "label": 1}, header=False), _ROW),
    ("a blank line of one column", lambda x: x.tsv(
        "a\n\n", columns={"text": 0}, header=False),
     [{"text": "a"}, {"text": ""}]),
    ("one line of 2 MB", lambda x: _length_of_error(
        lambda: x.tsv("a\tb" * 500_000)), 905),
    ("UTF-16", lambda x: x.tsv(_ROWS.encode("utf-16")),
     Says("save it as UTF-8")),
    ("UTF-16 without a mark", lambda x: x.tsv(_ROWS.encode("utf-16-le")),
     Says("save it as UTF-8")),
    ("Latin-1", lambda x: x.tsv("text\tlabel\nSchön\t1\n".encode("latin-1")),
     Says("is not UTF-8")),
    ("empty", lambda x: x.tsv(""), Says("a.tsv is empty")),
    ("only a header", lambda x: x.tsv("text\tlabel\n"),
     Says("contains no example")),
    ("no header", lambda x: x.tsv("a film\t1\n"),
     Says("its header is ['a film', '1']")),
    ("commas", lambda x: x.tsv("text,label\na film,1\n"),
     Says("its header is ['text,label']")),
    ("spaces", lambda x: x.tsv(_ROWS.replace("\t", "    ")),
     Says("no column 'text'")),
    ("swapped columns", lambda x: x.tsv("label\ttext\n1\ta film\n"), _ROW),
    ("a column twice", lambda x: x.tsv("text\ttext\tlabel\na\tb\t1\n"),
     Says("has two columns 'text'")),
    ("a line too short", lambda x: x.tsv(_ROWS + "a\n"),
     Says("Line 3")),
    ("a column that is not there",
     lambda x: x.tsv("a\t1\n", columns={"text": 5}, header=False),
     Says("has 2 columns, but 6 are expected")),
    ("gzip without .gz", lambda x: x.tsv(gzip.compress(_ROWS.encode())), _ROW),
    (".gz without gzip",
     lambda x: x.read(
         readers.tsv, "a.tsv.gz", _ROWS, columns={"text": "text"}),
     Says("remove .gz from its name")),
    ("half of a .gz",
     lambda x: x.tsv(gzip.compress(_ROWS.encode() * 9)[:-9]),
     Says("is not a complete gzip file")),
)  # fmt: skip
def test_tsv(given, call, expected):
    check(call, given, expected)


def _length_of_error(call):
    with pytest.raises(InputError) as error:
        call()
    return len(str(error.value))


@cases(
    ("blank lines", lambda x: x.csv("text,label\n\na film,1\n  \n\n"), _ROW),
    ("semicolons", lambda x: x.csv("text;label\na film;1\n"), _ROW),
    ("tabs", lambda x: x.csv(_ROWS), _ROW),
    ("semicolons and commas", lambda x: x.csv('text;label\n"a, b;";1\n'),
     [{"text": "a, b;", "label": "1"}]),
    ("semicolons and no such column", lambda x: x.csv("review;label\na;1\n"),
     Says("its header is ['review;label']")),
    ("the first line of Excel", lambda x: x.csv("sep=;\ntext;label\na;1\n"),
     Says("its header is ['sep=;']")),
    ("a long field", lambda x: len(x.csv(
        f"text,label\n{140_000 * 'a'},1\n")[0]["text"]), 140_000),
    ("an unclosed quote", lambda x: x.csv('text,label\n"a,1\nb,0\n'),
     Says("check its quotes")),
    ("byte-order mark and CRLF",
     lambda x: x.csv('\ufefftext,label\r\n"a film",1\r\n'), _ROW),
    ("blanks after commas", lambda x: x.csv("text, label\na film, 1\n"),
     Says("its header is ['text', ' label']")),
    ("the index of pandas", lambda x: x.csv(",text,label\n0,a film,1\n"), _ROW),
    ("a column twice", lambda x: x.csv("text,text,label\na,b,1\n"),
     Says("has two columns 'text'")),
    ("UTF-16", lambda x: x.csv("text,label\na,1\n".encode("utf-16")),
     Says("save it as UTF-8")),
    ("no header", lambda x: x.csv("a film,1\n"), Says("no column 'text'")),
    ("an empty text", lambda x: x.csv("text,label\n,1\n"),
     [{"text": "", "label": "1"}]),
)  # fmt: skip
def test_csv(given, call, expected):
    check(call, given, expected)


@cases(
    ("blank lines", lambda x: x.jsonl('{"text": "a"}\n\n{"text": "b"}\n\n'),
     [{"text": "a"}, {"text": "b"}]),
    ("a list", lambda x: x.jsonl('[{"text": "a"}]\n'),
     Says("give one object per line")),
    ("a list over several lines", lambda x: x.jsonl('[\n{"text": "a"}\n]\n'),
     Says("Line 1 of")),
    ("an integer", lambda x: x.jsonl('{"label": 1}\n'), [{"label": "1"}]),
    ("integers", lambda x: x.jsonl('{"label": [1, 3], "n": [0.5, true]}\n'),
     [{"label": ["1", "3"], "n": [0.5, "true"]}]),
    ("CR alone", lambda x: x.jsonl('{"text": "a"}\r{"text": "b"}\r'),
     Says("end with CR alone")),
    ("a boolean", lambda x: x.jsonl('{"label": true}\n'), [{"label": "true"}]),
    ("NaN", lambda x: x.jsonl('{"text": NaN}\n'), Says("null instead of NaN")),
    ("null", lambda x: x.predict(x.jsonl('{"text": null, "id": 1}\n')),
     Says("has no field 'text'")),
    ("an object as text", lambda x: x.predict(
        x.jsonl('{"text": {"en": "a film"}}\n')),
     Says("is {'en': 'a film'}; give a string")),
    ("is not valid Unicode", lambda x: x.predict(
        x.jsonl('{"text": "a \\ud83d"}\n')), Says("is not valid Unicode")),
    ("Python instead of JSON", lambda x: x.jsonl("{'text': 'a'}\n"),
     Says("is not a JSON object")),
    ("byte-order mark", lambda x: x.jsonl('\ufeff{"text": "a"}\n'),
     [{"text": "a"}]),
    ("UTF-16", lambda x: x.jsonl('{"text": "a"}\n'.encode("utf-16")),
     Says("save it as UTF-8")),
    ("empty", lambda x: x.jsonl(""), Says("contains no example")),
)  # fmt: skip
def test_jsonl(given, call, expected):
    check(call, given, expected)


def _parquet(given, column):
    parquet.write_table(
        pyarrow.table({"text": column}), given.file("a.parquet", "")
    )
    read = readers.parquet(columns={"text": "text"}, train="a.parquet")
    return list(read(given.folder, "train"))


@cases(
    ("NaN is null", lambda x: _parquet(x, [1.5, float("nan")]),
     [{"text": "1.5"}, {}]),
    ("bytes", lambda x: x.predict(_parquet(x, [b"a"])), Says("give a string")),
    ("objects", lambda x: x.predict(_parquet(x, [{"en": "a"}])),
     Says("give a string")),
)  # fmt: skip
def test_parquet(given, call, expected):
    check(call, given, expected)


@cases(
    ("tabs and spaces", lambda x: x.conll("Jo\tNNP B-PER\nran  VB\tO\n \n"),
     [{"words": ["Jo", "ran"], "label": ["B-PER", "O"]}]),
    ("IOB1", lambda x: x.conll("Jo I-PER\nRoe I-PER\nEd B-PER\n"),
     [{"words": ["Jo", "Roe", "Ed"], "label": ["B-PER", "I-PER", "B-PER"]}]),
    ("CR alone", lambda x: x.conll("Jo B-PER\rran O\r"),
     Says("end with CR alone")),
    ("IOE", lambda x: x.read(
        conll, "a.txt", "Jo I-PER\nRoe E-PER\n", validation="b.txt",
        labels=("O", "I-PER", "E-PER")),
     [{"words": ["Jo", "Roe"], "label": ["I-PER", "E-PER"]}]),
    ("IOBES", lambda x: x.conll("Jo S-PER\n"), Says("has the tag 'S-PER'")),
    ("the tag first", lambda x: x.conll("O ran\n"), Says("the tag 'ran'")),
    ("lower case", lambda x: x.conll("Jo b-per\n"), Says("the tag 'b-per'")),
    ("no tags", lambda x: x.evaluate(
        x.conll("Jo\nran\n"), "token_classification"),
     Says("has no field 'label'")),
    ("commas", lambda x: x.evaluate(
        x.conll("Jo,B-PER\n"), "token_classification"),
     Says("has no field 'label'")),
    ("a missing word", lambda x: x.conll("Jo B-PER\n O\n"), Says("Line 2")),
    ("byte-order mark and CRLF", lambda x: x.conll("\ufeffran O\r\n\r\n"),
     [{"words": ["ran"], "label": ["O"]}]),
    ("blank lines only", lambda x: x.conll("\n\n"),
     Says("contains no example")),
)  # fmt: skip
def test_conll(given, call, expected):
    check(call, given, expected)


@cases(
    ("no answers in version 1", lambda x: x.squad(answers=[]),
     Says("use the task squad/v2")),
    ("no answers in version 2", lambda x: x.squad(True, answers=[]), []),
    ("an impossible question in version 1",
     lambda x: x.squad(is_impossible=True), Says("use the task squad/v2")),
    ("is_impossible as a string",
     lambda x: x.squad(True, is_impossible="false"),
     Says("give true or false, without quotes")),
    ("answer_start as a string",
     lambda x: x.squad(answers=[{"text": "fox", "answer_start": "4"}]),
     Says("has the answer_start '4'")),
    ("an answer without a place",
     lambda x: x.squad(True, answers=[{"text": "", "answer_start": -1}]),
     Says("has the answer_start -1")),
    ("answers of transformers",
     lambda x: x.squad(answers={"text": ["fox"], "answer_start": [4]}),
     Says("has no list 'answers'")),
    ("an integer id", lambda x: x.squad(id=7), Says("has no string 'id'")),
)  # fmt: skip
def test_squad(given, call, expected):
    check(call, given, expected)


_SWAG = "label,ending3,ending2,ending1,ending0,sent2,sent1\n{},d,c,b,a,He,Hi.\n"


@cases(
    ("another order of columns", lambda x: x.swag(_SWAG.format(0)),
     [{"context": "Hi.", "endings": ["He a", "He b", "He c", "He d"],
       "label": "0"}]),
    ("no header", lambda x: x.swag("Hi.,He,a,b,c,d,0\n"),
     Says("has no column 'sent1'")),
    ("labels from 1", lambda x: x.evaluate(
        x.swag(_SWAG.format(4)), "multiple_choice"),
     Says("Label '4' of example 1")),
    ("labels of pandas", lambda x: x.evaluate(
        x.swag(_SWAG.format("1.0")), "multiple_choice"),
     Says("Label '1.0' of example 1")),
)  # fmt: skip
def test_swag(given, call, expected):
    check(call, given, expected)
