import json

import numpy as np
import pytest

from keras_bert.kinds.span import metrics
from keras_bert.tasks.squad import read_squad


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
        (["the", "fox"], "an", 0, 0),  # "the" does not count as an answer
        (["the"], "an", 1, 1),
    ],
)
def test_answers_are_compared_as_in_the_official_evaluation(
    gold, predicted, exact, f1
):
    assert metrics.exact_match([gold], [predicted]) == 100 * exact
    assert metrics.f1([gold], [predicted]) == pytest.approx(100 * f1)


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
    # The weakest model has not answered every question.
    predicted = [published.get(row["id"], "") for row in rows]
    assert metrics.exact_match(gold, predicted) == pytest.approx(
        exact, abs=1e-6
    )
    assert metrics.f1(gold, predicted) == pytest.approx(f1, abs=1e-6)
    if version == "2.0":
        figures = metrics.missing_answer_metrics(
            gold, predicted, predicted, [0.0] * len(rows)
        )
        assert figures == pytest.approx(
            {
                "HasAns_exact_match": 74.10593792172739,
                "HasAns_f1": 80.18183293833516,
                "NoAns_exact_match": 83.36417157275021,
                "NoAns_f1": 83.36417157275021,
                # With equal odds, all answers are given or none is.
                "best_exact_match": exact,
                "best_exact_match_threshold": 0.0,
                "best_f1": f1,
                "best_f1_threshold": 0.0,
            },
            abs=1e-6,
        )


def test_no_other_threshold_is_better():
    """Tries every threshold. Some odds are equal."""
    random = np.random.default_rng(4)
    for number in range(20):
        odds = random.integers(-9, 9, 30 + number).astype(float)
        # In the first rounds no answer is best, in the last ones every answer.
        share = min(number / 15, 1.0)
        gold = [["fox"] if x < share else [] for x in random.random(len(odds))]
        gold[0] = []
        texts = random.choice(["fox", "brown fox", "dog"], len(odds)).tolist()

        def given(threshold, texts=texts, odds=odds):
            return [
                text if x <= threshold else ""
                for text, x in zip(texts, odds, strict=True)
            ]

        figures = metrics.missing_answer_metrics(gold, given(0.0), texts, odds)
        for metric in (metrics.exact_match, metrics.f1):
            name = metric.__name__
            tried = [metric(gold, given(t)) for t in [-99.0, *odds]]
            best = figures[f"best_{name}"]
            assert best == pytest.approx(max(tried))
            threshold = figures[f"best_{name}_threshold"]
            assert metric(gold, given(threshold)) == pytest.approx(best)


def test_questions_without_an_answer_only():
    figures = metrics.missing_answer_metrics(
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
