import json

import pytest

from keras_bert.errors import InputError
from keras_bert.tasks.registry import get_task
from keras_bert.tasks.squad import read_squad


def _content(**changes):
    """An article with one question, whose fields `changes` replace."""
    question = {
        "id": "q1",
        "question": "Who?",
        "answers": [
            {"text": "fox", "answer_start": 4},
            {"text": "a fox", "answer_start": 2},
        ],
        **changes,
    }
    question = {k: v for k, v in question.items() if v is not None}
    paragraph = {"context": "Not a fox.", "qas": [question]}
    return {"version": "1.1", "data": [{"paragraphs": [paragraph]}]}


def _write(file, content):
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_all_gold_answers_are_read(tmp_path):
    _write(tmp_path / "train-v1.1.json", _content())
    _write(
        tmp_path / "dev-v2.0.json",
        _content(
            is_impossible=True,
            answers=[],
            plausible_answers=[{"text": "fox", "answer_start": 6}],
        ),
    )
    assert list(get_task("squad/v1").read(tmp_path, "train")) == [
        {
            "id": "q1",
            "question": "Who?",
            "context": "Not a fox.",
            "label": [
                {"text": "fox", "answer_start": 4},
                {"text": "a fox", "answer_start": 2},
            ],
        }
    ]
    (row,) = get_task("squad/v2").read(tmp_path, "validation")
    assert row["label"] == []
    with pytest.raises(
        FileNotFoundError, match="There is no train file at .*v2.0.json"
    ):
        get_task("squad/v2").read(tmp_path, "train")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "has no list 'data'"),
        ({"data": {}}, "has no list 'data'"),
        ({"data": [{"title": "A"}]}, "Article 1 of .* has no list 'paragr"),
        (_content(id=None), "Article 1 of .* has no string 'id'"),
        (_content(question=None), "Question q1 of .* no string 'question'"),
        (_content(question=5), "Question q1 of .* no string 'question'"),
        (_content(answers=[{}]), "answer of Question q1 .* no string 'text'"),
        (
            _content(answers=[{"text": "fox", "answer_start": 10}]),
            "'fox' of Question q1 of .* answer_start 10; .* of 10 characters",
        ),
        (_content(answers=[{"text": "fox"}]), "answer_start None"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, content, message):
    file = _write(tmp_path / "a.json", content)
    with pytest.raises(InputError, match=message):
        read_squad(file, answers_may_be_missing=False)


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_a_file_that_is_not_json_is_named(tmp_path, content):
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match="a.json is not JSON"):
        read_squad(file, answers_may_be_missing=True)
