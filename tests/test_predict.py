"""The script asks a SavedModel of each head, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import randomize

from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.base import build_head
from keras_bert.kinds.spec import TaskSpec
from keras_bert.serving.export import export_saved_model

SCRIPT = Path(__file__).parent.parent / "run_scripts" / "predict.py"


@pytest.fixture
def build(config, vocab_file, tmp_path):
    def build(head, text_fields, labels=()):
        """Returns the model, and the folder that it is exported to."""
        spec = TaskSpec(
            head=head,
            labels=labels,
            text_fields=text_fields,
            max_seq_length=12,
            do_lower_case=True,
            max_query_length=4,
            doc_stride=3,
        )
        head = build_head(spec, vocab_file, config)
        model = head.build_model(config)
        randomize(model)
        export_saved_model(model, head, tmp_path / "served", labels=labels)
        return FinetunedModel(model, head), tmp_path / "served"

    return build


def _predict(served, lines):
    done = subprocess.run(
        [sys.executable, SCRIPT, f"--model_dir={served}"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
    )
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def _error(served, line):
    done, answers = _predict(served, [line])
    assert (done.returncode, answers) == (1, [])
    assert "Traceback" not in done.stderr
    return done.stderr


def test_answers_of_a_context(build):
    model, served = build("span", ("question", "context"))
    rows = [
        {
            "question": "Is a film good?",
            "context": "The film was very good. " * 5,
        },
        {"question": "What jumped?", "context": "A quick brown fox jumped."},
    ]
    tabs = [f"{row['question']}\t{row['context']}" for row in rows]
    lines = [json.dumps(rows[0]), tabs[1]]
    # Some editors begin a file with a byte-order mark.
    _, answers = _predict(served, ["\ufeff" + lines[0], lines[1]])
    for answer, row, expected in zip(
        answers, rows, model.predict(rows), strict=True
    ):
        assert (answer["question"], answer["context"]) == tuple(row.values())
        assert answer["answer"] == expected["prediction"] != ""
        for name in ("start", "end", "score", "null_odds"):
            assert answer[name] == pytest.approx(expected[name], abs=1e-5)


def test_choices_between_endings(build):
    """One text has more of them than the others."""
    model, served = build("multiple_choice", ("context", "endings"))
    rows = [
        {"context": "The dog", "endings": ["jumped.", "is a film.", "was"]},
        {"context": "A movie", "endings": ["is bad.", "was over!", "the"]},
        {"context": "A fox", "endings": ["is", "was over!", "the", "a dog"]},
        {"context": "A film", "endings": ["is good.", "the", "jumped!"]},
    ]
    tabs = ["\t".join([row["context"], *row["endings"]]) for row in rows]
    _, answers = _predict(served, [json.dumps(rows[0]), *tabs[1:]])
    for answer, row in zip(answers, rows, strict=True):
        (expected,) = model.predict([row])
        assert answer["endings"] == row["endings"]
        assert str(answer["choice"]) == expected["prediction"]
        assert answer["scores"] == pytest.approx(expected["scores"], abs=1e-5)

    for line, message in (
        ("The dog", "The endings of line 1 must be a list of strings"),
        ('{"context": "a", "endings": "b"}', "The endings of line 1 must be"),
        ('{"context": 5, "endings": ["b"]}', "The context of line 1 must be a"),
    ):
        assert message in _error(served, line)


def test_entities_of_a_text(build):
    model, served = build(
        "token_classification", ("words",), ("O", "B-PER", "I-PER")
    )
    texts = ["The quick fox, a dog and the film.", "", "Élan!"]
    _, answers = _predict(served, texts)
    assert [answer["text"] for answer in answers] == texts
    words = ["The quick fox , a dog and the film .".split(), ["Élan", "!"]]
    expected = model.predict([{"words": w} for w in words])
    assert expected[0]["entities"]
    for answer, row in zip((answers[0], answers[2]), expected, strict=True):
        assert [e["type"] for e in answer["entities"]] == [
            e["type"] for e in row["entities"]
        ]
        for entity in answer["entities"]:
            part = answer["text"][entity["start"] : entity["end"]]
            assert entity["text"] == part
    assert answers[1]["entities"] == []


def test_what_cannot_be_read_is_said_in_a_sentence(build):
    _, served = build("classification", ("left", "right"), ("no", "yes"))
    for line, message in (
        (
            "one text",
            "Line 1 has 1 texts, but the model reads 2: text_a, text_b",
        ),
        ('{"text_a": "a"}', "Line 1 has 1 texts"),
        ('{"text_a": ', "Line 1 begins as a JSON object but is none"),
    ):
        assert message in _error(served, line)
