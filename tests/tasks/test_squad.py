import json

import numpy as np
import pytest

from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.span import metrics as squad_metrics
from keras_bert.tasks import get_task
from keras_bert.tasks.squad import read_squad


def _content(**changes):
    """One article with a question; changes go to the question."""
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
    assert get_task("squad/v1").read(tmp_path, "train") == [
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
    with pytest.raises(FileNotFoundError, match="No train file at .*v2.0.json"):
        get_task("squad/v2").read(tmp_path, "train")
    with pytest.raises(FileNotFoundError, match="has no test file"):
        get_task("squad/v1").read(tmp_path, "test")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "has no list 'data'"),
        ({"data": {}}, "has no list 'data'"),
        ({"data": []}, "holds no question"),
        ({"data": [{"title": "A"}]}, "Article 1 of .* has no list 'paragr"),
        (_content(id=None), "Article 1 of .* has no string 'id'"),
        (_content(question=None), "Question q1 of .* no string 'question'"),
        (_content(question=5), "Question q1 of .* no string 'question'"),
        (_content(answers=None), "Question q1 of .* has no list 'answers'"),
        (_content(answers=[{}]), "answer of Question q1 .* no string 'text'"),
        (
            _content(answers=[{"text": "fox", "answer_start": 10}]),
            "'fox' of Question q1 of .* answer_start 10, .* of 10 characters",
        ),
        (
            _content(answers=[{"text": "fox", "answer_start": -1}]),
            "answer_start -1",
        ),
        (_content(answers=[{"text": "fox"}]), "answer_start None"),
        (_content(answers=[]), "q1 of .* no answer; use the task squad/v2"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, content, message):
    file = _write(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=message):
        read_squad(file, answers_may_be_missing=False)


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_what_is_no_json_is_named(tmp_path, content):
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="a.json is not JSON"):
        read_squad(file, answers_may_be_missing=True)


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        (["The Fox!"], "fox", 1, 1),
        (["a lazy dog", "dog"], "the dog", 1, 1),
        (["quick brown fox"], "brown brown fox jumped", 0, 4 / 7),
        (["brown brown fox"], "brown brown brown", 0, 2 / 3),
        (["fox"], "dog", 0, 0),
        (["fox"], "", 0, 0),
        ([], "", 1, 1),
        ([], "fox", 0, 0),
        ([], "the", 1, 1),
        (["the", "fox"], "an", 0, 0),  # "the" is no answer
        (["the"], "an", 1, 1),
    ],
)
def test_comparisons(gold, predicted, exact, f1):
    assert squad_metrics.exact_matches([gold], [predicted]) == exact
    assert squad_metrics.f1_scores([gold], [predicted]) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("version", "file", "exact", "f1"),
    [
        ("1.1", "1.1-BERT-ensemble", 86.20624408703878, 92.19557978351129),
        ("1.1", "1.1-logreg", 40.14191106906339, 50.98153647324482),
        ("2.0", "2.0-BERT-single", 78.74168280973637, 81.77528052374727),
    ],
)
def test_published_predictions_score_as_published(
    shared, version, file, exact, f1
):
    folder = shared / "data" / "squad"
    rows = read_squad(
        folder / f"dev-v{version}.json", answers_may_be_missing=version == "2.0"
    )
    published = json.loads((folder / f"pred-{file}.json").read_text())
    gold = [[answer["text"] for answer in row["label"]] for row in rows]
    # The weakest has not answered all.
    predicted = [published.get(row["id"], "") for row in rows]
    metrics = METRICS["span"]
    assert metrics["exact_match"](gold, predicted) == pytest.approx(
        exact, abs=1e-6
    )
    assert metrics["f1"](gold, predicted) == pytest.approx(f1, abs=1e-6)
    if version == "2.0":
        figures = squad_metrics.figures_of_missing_answers(
            gold, predicted, predicted, [0.0] * len(rows)
        )
        assert figures == pytest.approx(
            {
                "HasAns_exact_match": 74.10593792172739,
                "HasAns_f1": 80.18183293833516,
                "NoAns_exact_match": 83.36417157275021,
                "NoAns_f1": 83.36417157275021,
                # All have the same odds: all answers are given, or none.
                "best_exact_match": exact,
                "best_exact_match_threshold": 0.0,
                "best_f1": f1,
                "best_f1_threshold": 0.0,
            },
            abs=1e-6,
        )


def test_the_best_threshold_is_the_best_of_all():
    """Against trying each; some odds are equal."""
    random = np.random.default_rng(4)
    for number in range(20):
        odds = random.integers(-9, 9, 30 + number).astype(float)
        # In the first rounds it is best to give no answer, or all.
        share = min(number / 15, 1.0)
        gold = [["fox"] if x < share else [] for x in random.random(len(odds))]
        gold[0] = []
        texts = random.choice(["fox", "brown fox", "dog"], len(odds)).tolist()

        def given(threshold, texts=texts, odds=odds):
            return [
                text if x <= threshold else ""
                for text, x in zip(texts, odds, strict=True)
            ]

        figures = squad_metrics.figures_of_missing_answers(
            gold, given(0.0), texts, odds
        )
        for name in ("exact_match", "f1"):
            metric = METRICS["span"][name]
            tried = [metric(gold, given(t)) for t in [-99.0, *odds]]
            best = figures[f"best_{name}"]
            assert best == pytest.approx(max(tried))
            threshold = figures[f"best_{name}_threshold"]
            assert metric(gold, given(threshold)) == pytest.approx(best)


def test_questions_of_one_kind_alone():
    figures = squad_metrics.figures_of_missing_answers(
        [[], [], []], ["", "fox", ""], ["", "fox", "dog"], [3.0, 1.0, 2.0]
    )
    assert figures == pytest.approx(
        {
            "NoAns_exact_match": 200 / 3,
            "best_exact_match": 100.0,
            "best_exact_match_threshold": 1.0,
            "NoAns_f1": 200 / 3,
            "best_f1": 100.0,
            "best_f1_threshold": 1.0,
        }
    )
