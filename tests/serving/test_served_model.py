import json
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.signatures import Signature
from keras_bert.serving.export import export_saved_model
from keras_bert.serving.served_model import ServedModel


def _export(folder):
    """Exports signatures whose answers tell what they read."""
    strings = [
        tf.TensorSpec([None], tf.string, name) for name in ("left", "right")
    ]
    endings = tf.TensorSpec([None, None], tf.string, "endings")
    return export_saved_model(
        folder,
        {
            "serving_default": Signature(_join, strings[::-1], ("scores",)),
            "one": Signature(lambda left: {"joined": left}, strings[:1]),
            "list": Signature(_join_lists, [strings[0], endings]),
        },
        tracked=[],
        description={"kind": "reader", "labels": ("no", "yes")},
        assets={},
        model_card="A model of a test.",
    )


def _join(right, left):
    size = tf.strings.length(left)
    found = tf.where(size[:, None] > [1, 2], [["X", "Y"]], "")
    return {
        "joined": tf.strings.join([left, right], "|"),
        "scores": tf.stack([size, -size], axis=1) / 2,
        "parts.text": found,
        "parts.start": tf.where(found == "", 0, [[0, 3]]),
        "guesses.best": found[:, :, None],
        "found": found,
    }


def _join_lists(left, endings):
    joined = tf.strings.reduce_join(endings, axis=1, separator="+")
    return {"joined": tf.strings.join([left, joined], "|")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "model"
    _export(folder)
    return folder


@pytest.fixture(scope="module")
def pair(folder):
    return ServedModel(folder)


@pytest.fixture(scope="module")
def one(folder):
    return ServedModel(folder, "one")


@pytest.fixture(scope="module")
def of_lists(folder):
    return ServedModel(folder, "list")


def _joined(model, *lines):
    return [answer["joined"] for answer in model.answer_lines(lines)]


def test_an_answer(pair):
    assert pair.inputs == ("right", "left")
    (answer,) = pair.answer([{"left": "ä1", "right": "", "id": 7}])
    # The strings of padding are left out.
    assert answer == {
        "joined": "ä1|",
        "scores": {"no": 1.5, "yes": -1.5},
        "found": ["X", "Y"],
        "parts": [{"text": "X", "start": 0}, {"text": "Y", "start": 3}],
        "guesses": [{"best": ["X"]}, {"best": ["Y"]}],
    }
    short, shortest = pair.answer(
        [{"left": "ab", "right": "狐"}, {"left": "", "right": ""}]
    )
    assert short["joined"] == "ab|狐"
    assert short["parts"] == [{"text": "X", "start": 0}]
    assert short["guesses"] == [{"best": ["X"]}]
    assert (shortest["parts"], shortest["found"]) == ([], [])
    assert pair.answer([]) == []


def test_lines_are_json_or_columns(pair):
    lines = [
        "\ufeffr\tl\r\n",
        '{"left": "a", "right": "b\\tc", "id": 7}\n',
        ' {"right": "{", "left": "\\u00e4"}',
        "{r}\tl",  # not JSON
        '{"id": 7}\t[]',  # none of the inputs
        "\t",
    ]
    assert _joined(pair, *lines) == [
        "l|r",
        "a|b\tc",
        "ä|{",
        "l|{r}",
        '[]|{"id": 7}',
        "|",
    ]
    first, second = list(pair.answer_lines(lines))[:2]
    # An answer follows its request, which has the inputs only.
    assert list(first)[:2] == ["right", "left"]
    assert (second["left"], second["right"]) == ("a", "b\tc")
    assert "id" not in second
    json.dumps(first)


@pytest.mark.parametrize(
    "line", ["a text", "{braces}", "{", '{"other": "x"}', "[1]", "a\tb", ""]
)
def test_a_line_of_one_text_is_that_text(one, line):
    assert _joined(one, line) == [line]


def test_the_texts_after_the_first_make_a_list(of_lists):
    lines = [
        "a\tb\tc",
        "a\tb",
        json.dumps({"left": "d", "endings": ["e", "f"]}),
        "a\tb\tc\td",
        "g\th\ti",
    ]
    answers = ["a|b+c", "a|b", "d|e+f", "a|b+c+d", "g|h+i"]
    assert _joined(of_lists, *lines) == answers


@pytest.mark.parametrize(
    ("signature", "line", "message"),
    [
        (
            "serving_default",
            "one text",
            "Line 2 has 1 texts, but the model takes 2: right, left. Separate "
            "them by tabs, or give a JSON object.",
        ),
        ("serving_default", "a\tb\tc", "Line 2 has 3 texts, but the model"),
        (
            "serving_default",
            '{"left": "a"}',
            "The right of line 2 must be a string.",
        ),
        (
            "serving_default",
            '{"left": "a", "right": ["b"]}',
            "The right of line 2 must be a string.",
        ),
        ("serving_default", '{"left": "a", "right": ', "Line 2 has 1 texts"),
        ("one", '{"left": 5}', "The left of line 2 must be a string."),
        ("one", '{"left": "\\ud83d"}', "The left of line 2 has half of a"),
        ("list", "a", "The endings of line 2 must be a list of strings."),
        (
            "list",
            '{"left": "a", "endings": "b"}',
            "The endings of line 2 must be a list of strings.",
        ),
        (
            "list",
            '{"left": "a", "endings": ["b", null]}',
            "The endings of line 2 must be a list of strings.",
        ),
        (
            "list",
            '{"left": "a", "endings": []}',
            "The endings of line 2 must be a list of strings.",
        ),
    ],
)
def test_a_wrong_line_is_answered_with_its_error(
    folder, signature, line, message
):
    model = ServedModel(folder, signature)
    good = {"left": "a", "right": "b", "endings": ["b"]}
    good = json.dumps({name: good[name] for name in model.inputs})
    first, second, third = model.answer_lines([good, line, good])
    assert first == third and "joined" in first
    assert second["line"] == 2 and list(second) == ["line", "error"]
    assert second["error"].startswith(message)
    with pytest.raises(InputError, match="line 2|Line 2"):
        model.read_line(line, 2)


def test_a_wrong_request_is_named(pair):
    good = {"left": "a", "right": "b"}
    with pytest.raises(InputError, match="The left of request 2 must be a str"):
        pair.answer([good, {"right": "b"}])


def test_more_requests_than_one_call_takes(one):
    lines = [str(i) for i in range(150)]
    assert _joined(one, *lines) == lines
    assert _joined(one) == []


def test_lines_are_answered_before_the_last_one_is_read(one):
    def endless():
        while True:
            yield "a"

    assert next(one.answer_lines(endless()))["joined"] == "a"


def test_what_is_not_an_exported_model_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="is not an exported model; make one"):
        ServedModel(tmp_path)
    message = "no signature 'guess', only serving_default, one, list"
    with pytest.raises(InputError, match=message):
        ServedModel(folder, "guess")


def test_the_highest_version_is_loaded(tmp_path):
    first, second = _export(tmp_path), _export(tmp_path)
    (second / "assets" / "model.json").write_text(
        json.dumps({"kind": "second", "labels": [], "signatures": {}})
    )
    with pytest.raises(InputError, match="no signature 'one'"):
        ServedModel(tmp_path, "one")
    assert ServedModel(first, "one").kind == "reader"


_PROGRAM = """
import sys
import tensorflow, tensorflow_text

before = set(sys.modules)
from keras_bert.serving.served_model import ServedModel

print(*sorted(set(sys.modules) - before))
(answer,) = ServedModel(sys.argv[1], "one").answer([{"left": "ok"}])
print(answer["joined"])
"""


def test_a_server_needs_tensorflow_and_nothing_else(folder, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, moved], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [m for m in done.stdout.split() if m != "lazy_loader"] == [
        "keras_bert",
        "keras_bert.errors",
        "keras_bert.serving",
        "keras_bert.serving.served_model",
        "keras_bert.serving.versions",
        "ok",
    ]
