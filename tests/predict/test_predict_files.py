import contextlib
import functools
import gzip
import io
import json

import pandas as pd
import pytest
from conftest import WORDS
from file_kills import killed_after

from keras_bert.errors import InputError
from keras_bert.predict import predict_files as module
from keras_bert.predict.predict_files import predict_files, predict_lines
from keras_bert.predict.served_model import ServedModel
from keras_bert.predict.versions import MODEL_FILES

TEXTS = [" ".join(WORDS[: i * 7 % 13]) for i in range(23)]


@pytest.fixture(scope="module")
def load():
    return functools.cache(ServedModel)


@pytest.fixture(autouse=True)
def chunks_of_five(monkeypatch, load):
    monkeypatch.setattr(module, "LINES_PER_CHUNK", 5)
    # Loading takes longer than all else.
    monkeypatch.setattr(module, "ServedModel", load)


@pytest.fixture
def files(tmp_path):
    """Files with a header, a wrong line and an empty one."""
    rows = [f"{i}\t{text}" for i, text in enumerate(TEXTS)]
    (tmp_path / "a.tsv").write_text(
        "\n".join(["id\ttext", *rows[:8], "wrong", *rows[8:]])
    )
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("a film\n\nthe fox")
    return f"{tmp_path}/a.tsv,{tmp_path}/*.txt.gz"


def _lines(file):
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_answers_are_in_the_order_of_the_lines(served, load, files, tmp_path):
    assert predict_files(served, files, tmp_path / "out.jsonl") == 1
    found = _lines(tmp_path / "out.jsonl")
    place = tmp_path / "a.tsv"
    assert found.pop(8) == {
        "file": str(place),
        "line": 10,
        "error": f"Line 10 of {place} has 1 column, but the header has 2: id, "
        "text. Separate columns by tabs, or give a JSON object.",
    }
    texts = [*TEXTS, "a film", "", "the fox"]
    assert [answer["text"] for answer in found] == texts
    for text, answer in zip(texts, found, strict=True):
        (alone,) = load(served, "serving_default").answer([{"text": text}])
        assert answer["text"] == text and list(answer)[1:] == list(alone)
        assert answer["label"] == alone["label"]
        assert answer["scores"] == pytest.approx(alone["scores"], abs=1e-5)


def test_a_killed_run_continues_to_the_same_bytes(served, files, tmp_path):
    whole, out = tmp_path / "whole.gz", tmp_path / "out.gz"
    predict_files(served, files, whole)
    for num_chunks in (1, 3):  # the wrong line is in the second chunk
        with killed_after(num_chunks):
            predict_files(served, files, out)
        assert not out.exists()
    # The last two chunks are left.
    with killed_after(1):
        predict_files(served, files, out)
    assert predict_files(served, files, out) == 1
    assert out.read_bytes() == whole.read_bytes()
    assert len(_lines(out)) == 27
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.tsv", "b.txt.gz", whole.name, out.name
    }  # fmt: skip


class _Echo(ServedModel):
    """Stands in for a model in a folder."""

    inputs = ("text",)

    def __init__(self, folder, signature):
        self.folder = folder
        self._ranks = {"text": 1}

    def _answer(self, requests):
        return [{"label": "yes"} for _ in requests]


@pytest.mark.parametrize("model_format", MODEL_FILES)
def test_what_is_left_of_another_run_is_refused(
    files, tmp_path, monkeypatch, model_format
):
    monkeypatch.setattr(module, "ServedModel", _Echo)
    model, out = tmp_path / "model", tmp_path / "out"
    (model / "assets").mkdir(parents=True)
    changes = [
        (model / MODEL_FILES[model_format], b"\0network", b"\1network"),
        (model / "assets" / "model.json", b'{"labels": []}', b"{}"),
        (tmp_path / "a.tsv", TEXTS[4].encode(), b"another text"),
        (tmp_path / "a.tsv", b"\ttext", b"\ttext\tlabel"),
    ]
    if model_format == "saved_model":
        changes.append((model / "fingerprint.pb", b"uuid", b"another uuid"))
    for file, content, _ in changes:
        if not file.exists():
            file.write_bytes(content)
    with killed_after(2):
        predict_files(model, files, out)
    for file, old, new in changes:
        content = file.read_bytes()
        file.write_bytes(content.replace(old, new, 1))
        with pytest.raises(InputError, match=r"\.out\.parts holds results of"):
            predict_files(model, files, out)
        file.write_bytes(content)
    assert predict_files(model, files, out) == 1
    assert len(_lines(out)) == 27


def test_wrong_input_leaves_nothing(served, files, tmp_path):
    out = tmp_path / "out" / "a.jsonl"
    for model_dir, names, message in (
        (served, f"{tmp_path}/*.csv", "No file matches"),
        (tmp_path, files, "is not an exported model"),
    ):
        with pytest.raises((OSError, InputError), match=message):
            predict_files(model_dir, names, out)
    for predict in (predict_files, predict_lines):
        with pytest.raises(
            InputError, match="would be CSV; give a name that ends with .jsonl"
        ):
            predict(served, None, out.with_name("a.csv.gz"))
    assert not out.parent.exists()


@pytest.mark.parametrize(
    "lines",
    [
        "a film",
        b"a film",
        [b"a film"],
        [("a",)],
        {"text": "a film"},
        {"a film"},
        pd.DataFrame({"text": ["a film"]}),
        None,
    ],
)
def test_wrong_lines_from_python(served, lines):
    with pytest.raises(InputError, match="must be a list of strings"):
        predict_lines(served, lines)


def test_an_empty_name_is_not_standard_input(served, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises((OSError, InputError), match="No file matches ''"):
        predict_files(served, "")


def test_lines_have_no_header(served, capsys):
    assert predict_lines(served, ["text", "film\n"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["text", "film"]


def test_lines_are_answered_before_the_last_one_is_read(served, monkeypatch):
    def endless():
        while True:
            assert not stdout.getvalue()
            yield "film"

    stdout = io.StringIO()
    monkeypatch.setattr("sys.stdout", stdout)
    with pytest.raises(AssertionError):
        predict_lines(served, endless())
    assert stdout.getvalue().count("\n") == 5


def test_the_bar_counts_the_lines(served, files, tmp_path, monkeypatch):
    bars = []

    class _Bar(contextlib.nullcontext):
        def __init__(self, *args, initial, bar):
            super().__init__(self)
            bars.append([args, initial, bar])

        def update(self, num_done):
            bars[-1].append(num_done)

    monkeypatch.setattr(module, "Progress", _Bar)
    with killed_after(4):
        predict_files(served, files, tmp_path / "out")
    predict_files(served, files, tmp_path / "out")
    labels = ("Predicting", 27, "lines")
    assert bars == [[labels, 0, True, 5, 5, 5, 5], [labels, 20, True, 5, 2]]
