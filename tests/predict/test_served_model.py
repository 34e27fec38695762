import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.export.saved_model import export_saved_model
from keras_bert.kinds.signatures import Signature
from keras_bert.predict.served_model import ServedModel

NAN = float("nan")


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
        "sizes.left": tf.stack([size, 0 * size], axis=1),
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
    requests = [{"left": line} for line in lines]
    return [answer["joined"] for answer in model.answer(requests)]


def test_an_answer(pair):
    assert pair.inputs == ("right", "left")
    (answer,) = pair.answer([{"left": "ä1", "right": "", "id": 7}])
    # The strings of padding are left out.
    assert answer == {
        "joined": "ä1|",
        "scores": {"no": 1.5, "yes": -1.5},
        "found": ["X", "Y"],
        "parts": [{"text": "X", "start": 0}, {"text": "Y", "start": 3}],
        "sizes": [{"left": 3}],  # an object of numbers is padded with 0
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


def test_the_order_of_the_outputs_does_not_matter(pair, monkeypatch):
    request, serve = {"left": "a", "right": ""}, pair._serve
    expected = json.dumps(pair.answer([request]))
    monkeypatch.setattr(
        pair, "_serve", lambda x: dict(reversed(serve(x).items()))
    )
    assert json.dumps(pair.answer([request])) == expected


def test_an_answer_that_is_not_a_number_is_refused(one, monkeypatch):
    outputs = {"label": np.array([b"a"], object), "score": np.array([NAN])}
    monkeypatch.setattr(one, "_serve", lambda x: outputs)
    with pytest.raises(InputError, match=r"output score of .*1 is not a num"):
        one.answer(["a"])


def test_lists_of_different_lengths(of_lists):
    lists = ["b", "c"], ["b"], ["e", "f"], ["", "c", "d"], ["h", "i"]
    answers = of_lists.answer([{"left": "a", "endings": x} for x in lists])
    assert [answer["joined"] for answer in answers] == [
        "a|" + "+".join(x) for x in lists
    ]


def test_an_empty_string_at_the_end_is_not_padding(of_lists):
    (answer,) = of_lists.answer([{"left": "a", "endings": ["", "b", ""]}])
    assert answer["joined"] == "a|+b+ "


@pytest.mark.parametrize(
    "requests",
    [
        "a text",
        {"left": "a text"},
        {"a text"},  # has no order
        np.array("a text"),
        # Iterating over it yields the names of its columns.
        pd.DataFrame({"left": ["a text"]}),
        None,
    ],
)
def test_what_is_not_a_list_of_requests_is_refused(one, requests):
    with pytest.raises(InputError, match="but must be a list of dicts such as"):
        one.answer(requests)


def test_a_column_of_a_table_is_a_list_of_requests(one):
    table = pd.DataFrame({"left": ["a", "b"]})
    answers = one.answer(table["left"])
    assert [answer["joined"] for answer in answers] == ["a", "b"]
    assert one.answer(table.to_dict("records")) == answers


def test_more_requests_than_one_call_takes(one):
    lines = [str(i) for i in range(150)]
    assert _joined(one, *lines) == lines


@pytest.fixture
def calls(one, monkeypatch):
    """The lengths of the texts of each call."""
    calls = []
    answer = one._answer

    def counted(rows):
        calls.append([len(row["left"]) for row in rows])
        return answer(rows)

    monkeypatch.setattr(one, "_answer", counted)
    return calls


def test_texts_of_like_length_share_a_call(one, calls):
    lines = ["ä" * (i * 37 % 101) for i in range(150)]
    assert _joined(one, *lines) == lines
    assert list(map(len, calls)) == [64, 64, 22]
    assert sum(calls, []) == sorted(map(len, lines))


def test_long_texts_go_into_several_calls(one, calls):
    lines = [letter * 200_000 for letter in "abc"] + ["d" * 600_000, "e"]
    assert _joined(one, *lines) == lines
    assert calls == [[1, 200_000, 200_000], [200_000], [600_000]]


def test_what_is_not_an_exported_model_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="is not an exported model; make one"):
        ServedModel(tmp_path)
    message = "no signature 'guess' that takes texts, only serving_default, "
    message += "one, list"
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


def test_a_file_that_was_cut_while_it_was_copied_is_named(tmp_path):
    version = _export(tmp_path)
    (version / "README.md").write_text("An edited card.")
    file = version / "saved_model.pb"
    content = file.read_bytes()
    file.write_bytes(content[:-9])
    with pytest.raises(InputError, match="saved_model.pb is damaged; copy the"):
        ServedModel(tmp_path)
    file.write_bytes(content)
    assert ServedModel(tmp_path).kind == "reader"


_PROGRAM = """
import sys

import numpy

before = set(sys.modules)
from keras_bert.predict.served_model import ServedModel

for name in sorted(set(sys.modules) - before):
    if name.split(".")[0] not in sys.stdlib_module_names | {"lazy_loader"}:
        print(name)
"""


def test_tensorflow_is_imported_when_a_saved_model_is_loaded():
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        "keras_bert",
        "keras_bert.errors",
        "keras_bert.io",
        "keras_bert.io.checksums",
        "keras_bert.io.folders",
        "keras_bert.io.paths",
        "keras_bert.io.whole_files",
        "keras_bert.predict",
        "keras_bert.predict.function",
        "keras_bert.predict.load_functions",
        "keras_bert.predict.served_model",
        "keras_bert.predict.versions",
        "keras_bert.registration",
    ]


def test_a_folder_can_be_moved(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert _joined(ServedModel(moved, "one"), "ok") == ["ok"]
