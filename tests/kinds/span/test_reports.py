import json

import pytest
from span_examples import span_kind, span_row


def _answer(text, null_odds=0.0, best_answer=None):
    return {
        "answer": text,
        "null_odds": null_odds,
        "best_answer": text if best_answer is None else best_answer,
        "nbest": [{"text": text, "probability": 1.0}],
    }


def test_scores(vocab_file):
    kind = span_kind(vocab_file)
    rows = [
        span_row("a dog", "dog", "a dog"),
        span_row("a lazy fox", "lazy fox"),
    ]
    answers = [_answer("the dog"), _answer("", 3.0, best_answer="fox")]
    assert kind.score(rows, answers, ("f1", "exact_match")) == {
        "f1": 50.0,
        "exact_match": 50.0,
    }
    rows.append(span_row("a film"))
    answers.append(_answer("film", 4.0))
    assert kind.score(rows, answers, ("f1",)) == pytest.approx(
        {
            "f1": 100 / 3,
            "HasAns_exact_match": 50.0,
            "HasAns_f1": 50.0,
            "NoAns_exact_match": 0.0,
            "NoAns_f1": 0.0,
            "best_exact_match": 200 / 3,
            "best_exact_match_threshold": 0.0,
            "best_f1": 100 * (1 + 1 + 2 / 3) / 3,
            "best_f1_threshold": 3.0,
        }
    )


def test_files(vocab_file, tmp_path):
    rows = [
        span_row("a b", id="q1"),
        span_row("the lazy dog", "lazy dog", id="q2"),
        span_row("the lazy dog", "lazy dog", id="q3"),
        span_row("x " * 40, "x"),
    ]
    answers = [_answer("", 1.5), _answer("dog"), _answer("한", 9.0)]
    answers.append(_answer("x " * 17))
    folder = tmp_path / "dev"
    span_kind(vocab_file).write_reports(folder, rows, answers)
    names = ["nbest_predictions.json", "predictions.json"]
    # Questions of one id do not replace each other.
    same = [{**row, "id": "q"} for row in rows]
    span_kind(vocab_file).write_reports(tmp_path / "same", same, answers)
    found = json.loads((tmp_path / "same" / names[1]).read_text())
    assert found == dict(zip("1234", ["", "dog", "한", "x " * 17], strict=True))
    assert sorted(f.name for f in folder.iterdir()) == names
    ids = ["q1", "q2", "q3", "4"]
    assert json.loads((folder / names[1]).read_text()) == dict(
        zip(ids, ["", "dog", "한", "x " * 17], strict=True)
    )
    n_best = json.loads((folder / names[0]).read_text())
    assert n_best["q2"] == [{"text": "dog", "probability": 1.0}]
    without_labels = [{"question": "", "context": ""}] * 4
    folder = tmp_path / "test"
    span_kind(vocab_file, answers_may_be_missing=True).write_reports(
        folder, without_labels, answers
    )
    assert sorted(f.name for f in folder.iterdir()) == [
        names[0],
        "null_odds.json",
        names[1],
    ]
    null_odds = json.loads((folder / "null_odds.json").read_text())
    assert null_odds == {"1": 1.5, "2": 0.0, "3": 9.0, "4": 0.0}
