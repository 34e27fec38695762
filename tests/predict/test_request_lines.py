import gzip
import json

import pytest

from keras_bert.errors import InputError
from keras_bert.predict.request_lines import (
    RequestLine,
    answer_lines,
    read_request,
    read_request_files,
    read_request_lines,
    with_answer,
)
from keras_bert.predict.served_model import ServedModel


class _Joiner(ServedModel):
    """Answers with its inputs, joined; an input called endings is a list."""

    def __init__(self, *inputs):
        self.inputs = inputs
        self._ranks = {name: 1 + (name == "endings") for name in inputs}

    def _answer(self, requests):
        return [{"joined": "|".join(map(str, r.values()))} for r in requests]


ONE = _Joiner("left")
PAIR = _Joiner("right", "left")
OF_LISTS = _Joiner("left", "endings")
NO_LIST = "The endings of line 2 must be a list of strings."


def _answers(model, *lines):
    return answer_lines(model, list(read_request_lines(lines, model.inputs)))


def _joined(model, *lines):
    answers, num_errors = _answers(model, *lines)
    assert num_errors == 0
    return [answer["joined"] for answer in answers]


def test_lines_are_json_or_columns():
    lines = [
        "\ufeffr\tl\r\n",
        '{"left": "a", "right": "b\\tc", "id": 7}\n',
        ' {"right": "{", "left": "\\u00e4"}',
        "{r}\tl",  # not JSON
        '{"id": 7}\t[]',  # none of the inputs
        "\t",
    ]
    assert _joined(PAIR, *lines) == [
        "r|l",
        "b\tc|a",
        "{|ä",
        "{r}|l",
        '{"id": 7}|[]',
        "|",
    ]
    first, second = _answers(PAIR, *lines)[0][:2]
    # An answer follows its request, which has the inputs only.
    assert list(first) == ["right", "left", "joined"]
    assert second == {"right": "b\tc", "left": "a", "joined": "b\tc|a"}


@pytest.mark.parametrize(
    "line",
    ["a text", "{", "{1, 2}", "[1]", "[Chorus]", "null", '"quoted"', " a ", ""],
)
def test_a_line_of_one_text_is_that_text(line):
    assert _joined(ONE, line) == [line]


def test_an_answer_does_not_replace_its_request():
    row = {"joined": "a", "id": 1}
    assert with_answer(row, {"joined": "b", "label": "c"}) == {
        "joined": "a",
        "id": 1,
        "predicted_joined": "b",
        "label": "c",
    }
    again = {"label": "b", "predicted_label": "b"}
    answer = {"predicted_predicted_label": "c"}
    assert with_answer(again, {"label": "c"}) == again | answer


def test_the_texts_after_the_first_make_a_list():
    lines = [
        "a\tb\tc",
        "a\tb",
        json.dumps({"left": "d", "endings": ["e", "f"]}),
    ]
    answers = ["a|['b', 'c']", "a|['b']", "d|['e', 'f']"]
    assert _joined(OF_LISTS, *lines) == answers
    assert _joined(_Joiner("endings"), "a\tb") == ["['a', 'b']"]


def test_quotes_that_excel_wrote_are_left_out():
    line = '"He said ""hi"" to me"\t"a"'
    assert _joined(PAIR, line) == ['He said "hi" to me|"a"']
    assert _joined(ONE, "left\tid", line) == ['He said "hi" to me']


def test_columns_are_read_by_the_names_in_the_header():
    lines = [
        "\ufeffid\tleft\tright\n",
        "7\tl\tr\n",
        '{"left": "a", "right": ""}',
    ]
    assert _joined(PAIR, *lines) == ["r|l", "|a"]
    assert _joined(ONE, *lines[:2]) == ["l"]
    assert _joined(ONE, "left\n", "a\n", "left\n") == ["a", "left"]
    lines = ["id\tleft\tendings\n", "7\ta\tb\tc\n"]
    assert _joined(OF_LISTS, *lines) == ["a|['b', 'c']"]
    # Not a header: it lacks an input.
    assert _joined(PAIR, "left\tlabel\n", "a\tb") == ["left|label", "a|b"]
    answers, num_errors = _answers(PAIR, "id\tleft\tright", "7\tl\tr", "7\tl")
    assert num_errors == 1 and answers[0]["joined"] == "r|l"
    assert answers[1] == {
        "line": 3,
        "error": "Line 3 has 2 columns, but the header has 3: id, left, right. "
        "Separate columns by tabs, or give a JSON object.",
    }


@pytest.mark.parametrize(
    ("model", "line", "message"),
    [
        (PAIR, "one text", "Line 2 has 1 column, but the model takes 2: right"),
        (PAIR, "a\tb\tc", "Line 2 has 3 columns, but the model takes 2: r"),
        (
            ONE,
            '{"lefd": "a"}',
            "Line 2 has the fields lefd, but the model takes left; write it as "
            '{"left": "..."}.',
        ),
        (ONE, "{}", "Line 2 has no fields, but the model takes left;"),
        (ONE, '{"left": ["a"]}', "The left of line 2 must be a string."),
        (ONE, '{"left": null}', "The left of line 2 must be a string."),
        (ONE, '{"left": "a"', "Line 2 begins like JSON, but is not a valid"),
        (ONE, '{"left": ' + "[" * 100_000, "Line 2 begins like JSON"),
        (ONE, "{'left': 'a'}", "Line 2 begins like JSON"),
        (ONE, '["a"]', "Line 2 begins like JSON"),
        (ONE, '[{"left": "a"}]', "Line 2 begins like JSON"),
        (
            ONE,
            "a\t1",
            "Line 2 has 2 columns, but the model takes 1: left. Separate "
            "columns by tabs, or give a JSON object.",
        ),
        (ONE, "a\0", "Line 2 is not UTF-8, but perhaps UTF-16; convert"),
        (PAIR, '{"left": "a"}', "Line 2 has the fields left, but the model"),
        (OF_LISTS, '{"left": ["a"], "endings": ["b"]}', "The left of line 2"),
        (ONE, '{"left": "\\ud83d"}', "The left of line 2 contains half of a"),
        (ONE, "caf\udce9", "Line 2 is not UTF-8; convert the text to UTF-8."),
        (OF_LISTS, "a", NO_LIST),
        *(
            (OF_LISTS, f'{{"left": "a", "endings": {endings}}}', NO_LIST)
            for endings in ('"b"', '["b", null]', "[]")
        ),
    ],
)
def test_a_wrong_line_is_answered_with_its_error(model, line, message):
    good = {"left": "a", "right": "b", "endings": ["b"]}
    good = json.dumps({name: good[name] for name in model.inputs})
    (first, second, third), num_errors = _answers(model, good, line, good)
    assert num_errors == 1
    assert first == third and "joined" in first
    assert second["line"] == 2 and list(second) == ["line", "error"]
    assert second["error"].startswith(message)
    with pytest.raises(InputError, match="line 2|Line 2"):
        read_request(model, RequestLine(line, 2))


def test_lines_of_files_know_their_file_and_its_header(tmp_path):
    plain, packed = str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv.gz")
    with open(plain, "wb") as file:
        file.write("ä\u2028\x0b\ncaf\xe9\n".encode("latin-1", "replace"))
    with gzip.open(packed, "wt") as file:
        file.write("id\tleft\n\n7\tb\r\n")
    lines = list(read_request_files([plain, packed], ONE.inputs))
    assert lines == [
        RequestLine("\udce4?\x0b", 1, plain),
        RequestLine("caf\udce9", 2, plain),
        RequestLine("", 2, packed, ("id", "left")),
        RequestLine("7\tb", 3, packed, ("id", "left")),
    ]
    *wrong, good = answer_lines(ONE, lines)[0]
    assert good == {"left": "b", "joined": "b"}
    assert wrong[1] == {
        "file": plain,
        "line": 2,
        "error": f"Line 2 of {plain} is not UTF-8; convert the text to UTF-8.",
    }
    assert wrong[2]["error"].startswith(f"Line 2 of {packed} has 1 column, but")


@pytest.mark.parametrize(
    "header",
    ["left,right,id", "left;right", '"left","right"', '"left"\t"right"']
    + ["\ufeffleft, right", "Left\tRight", "id\t left\tright "],
)
def test_a_header_that_is_nearly_one_is_refused(header):
    """Its lines would be read as texts, and even in another order."""
    message = (
        "The first line of a.csv names right and left, but not as a header; "
        "write exactly these names with tabs between the columns, or JSON "
        "lines."
    )
    with pytest.raises(InputError) as error:
        list(read_request_lines([header, "7\ta"], PAIR.inputs, "a.csv"))
    assert str(error.value) == message
    for line in ("left", "leftright", "right of left, and left of right"):
        assert list(read_request_lines([line], PAIR.inputs, "a.csv"))


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_csv_files_have_quotes_and_a_header(tmp_path, name, delimiter):
    rows = [["left", "id", "right"], ['"a, b;"', "1", '"c\n""d"""'], ["{e}"]]
    rows[2] += ["", "\tf"]
    text = "\r\n".join(map(delimiter.join, rows)) + "\r\n \r\n"
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "wb") as file:
        file.write(b"\xef\xbb\xbf" + text.encode())
    lines = list(read_request_files([f"{tmp_path}/{name}"], PAIR.inputs))
    answers, num_errors = answer_lines(PAIR, lines)
    joined = [answer["joined"] for answer in answers]
    assert joined == ['c\n"d"|a, b;', "\tf|{e}"] and not num_errors
    assert [line.number for line in lines] == [3, 4]


def test_a_repeated_column_is_a_list(tmp_path):
    (tmp_path / "a.csv").write_text("endings,left,endings\na,b,c\n")
    lines = list(read_request_files([f"{tmp_path}/a.csv"], OF_LISTS.inputs))
    request = read_request(OF_LISTS, lines[0])
    assert request == {"left": "b", "endings": ["a", "c"]}
    (tmp_path / "b.csv").write_text("left,left\na,b\n")
    (tmp_path / "b.tsv").write_text("left\tleft\na\tb\n")
    files = [f"{tmp_path}/b.csv", f"{tmp_path}/b.tsv"]
    for line in read_request_files(files, ONE.inputs):
        with pytest.raises(InputError, match="left of line 2 .* be a string"):
            read_request(ONE, line)
    for header in ("endings\tleft\tendings", "left\tendings\tendings"):
        assert _joined(OF_LISTS, header, "a\ta\tb") == ["a|['a', 'b']"]


@pytest.mark.parametrize(
    ("content", "inputs", "message"),
    [
        ("left\n" + 600 * "a\n" + "\0\n", ("left",), "Line 602 .* a null byte"),
        ("left,id\na,1\n", ("text",), "columns left, id, but text must be amo"),
        ("a fox, and a dog\n", ("text",), "columns a fox,  and a dog, but t"),
        ("left,id\na,1\n", (), "left, id; name the column .* as --field=text"),
        ("left,id\na,1\n\nb\n", ("left",), "Line 4 .* 1 columns, but 2 are"),
        ('left,id\n"a,1\n', ("left",), "Line 2 .* is not CSV: .* its quotes"),
        ("", ("left",), "a.csv is empty"),
    ],
)
def test_a_csv_file_of_other_columns_is_refused(
    tmp_path, content, inputs, message
):
    """Its lines would be read as texts."""
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        list(read_request_files([f"{tmp_path}/a.csv"], inputs))


def test_line_breaks_and_a_byte_order_mark_are_no_part_of_a_text(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfa\r\n\r\nb c\r\n\n")
    lines = read_request_files([str(file)], ONE.inputs)
    assert [line.text for line in lines] == ["a", "", "b c", ""]


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([["a"]], r"Request 1 is \['a'\], but must be a dict such as"),
        ([None], "Request 1 is None, but"),
        ("a", "must be a list of dicts such as"),
        (b"a", "must be a list of dicts"),
        ({"left": "a"}, "must be a list of dicts"),
        (None, "must be a list of dicts"),
        ([{"left": "a"}, {"text": "a"}], "Request 2 has the fields text, but"),
        ([{"left": b"a"}], "The left of request 1 must be a string"),
        ([{1: "a"}], "Request 1 has the fields 1, but"),
    ],
)
def test_wrong_requests(requests, message):
    with pytest.raises(InputError, match=message):
        ONE.answer(requests)


def test_an_input_called_error_is_not_an_error():
    answers, num_errors = _answers(_Joiner("error"), "a")
    assert (answers, num_errors) == ([{"error": "a", "joined": "a"}], 0)


def test_a_string_is_enough_for_one_input():
    assert ONE.answer(["a"]) == ONE.answer([{"left": "a"}])
