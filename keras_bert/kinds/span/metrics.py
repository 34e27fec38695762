"""The metrics of SQuAD's official evaluation, in percent."""

import collections
import operator
import re
import string
from collections.abc import Callable, Sequence

import numpy as np

# The texts of the gold answers to a question; empty if it has no answer.
Gold = Sequence[str]


def exact_match(gold: Sequence[Gold], predicted: Sequence[str]) -> float:
    """Returns the percentage of answers that equal a gold answer.

    Case, articles and punctuation do not count.
    """
    return 100 * float(np.mean(_scores(operator.eq, gold, predicted)))


def f1(gold: Sequence[Gold], predicted: Sequence[str]) -> float:
    """Returns the mean F1 of words in percent, against the best gold answer."""
    return 100 * float(np.mean(_scores(_f1, gold, predicted)))


def missing_answer_metrics(
    gold: Sequence[Gold],
    predicted: Sequence[str],
    texts: Sequence[str],
    null_odds: Sequence[float],
) -> dict[str, float]:
    """Returns the further metrics of SQuAD 2.0.

    These are exact match and F1 of the questions with an answer (`HasAns_`) and
    of the questions without one (`NoAns_`); the best values (`best_`) that any
    null threshold gives; and the thresholds that give these values. With a
    threshold, the answer to a question is its text in `texts` if its null odds
    do not exceed the threshold, and no answer otherwise.
    """
    has_answer = np.array([bool(answers) for answers in gold])
    metrics = {}
    for name, compare in ("exact_match", operator.eq), ("f1", _f1):
        scores = _scores(compare, gold, predicted)
        for kind, mask in (("HasAns", has_answer), ("NoAns", ~has_answer)):
            if mask.any():
                metrics[f"{kind}_{name}"] = 100 * float(scores[mask].mean())
        best, threshold = _best_threshold(
            _scores(compare, gold, texts), has_answer, np.array(null_odds)
        )
        metrics[f"best_{name}"] = best
        metrics[f"best_{name}_threshold"] = threshold
    return metrics


def _best_threshold(
    scores: np.ndarray, has_answer: np.ndarray, null_odds: np.ndarray
) -> tuple[float, float]:
    """Returns the best mean score and the lowest threshold that gives it."""
    order = np.argsort(null_odds, kind="stable")
    odds = null_odds[order]
    # What each answer gains over no answer, the surest answer first.
    gains = (scores - ~has_answer)[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])
    # Questions with equal odds are either all answered or none is.
    totals[1:-1][odds[1:] == odds[:-1]] = -np.inf
    best = totals.argmax()
    below_all = np.nextafter(odds[0], -np.inf)
    return (
        100 * float(totals[best] + np.sum(~has_answer)) / len(scores),
        float(odds[best - 1] if best else below_all),
    )


def _scores(
    compare: Callable[[list[str], list[str]], float],
    gold: Sequence[Gold],
    predicted: Sequence[str],
) -> np.ndarray:
    """Returns the score of each answer, from 0 to 1."""
    # A text of articles and punctuation only is not an answer.
    gold_words = [
        [words for a in answers if (words := _words(a))] for answers in gold
    ]
    pairs = zip(gold_words, map(_words, predicted), strict=True)
    best = [
        max(compare(x, words) for x in answers or [[]])
        for answers, words in pairs
    ]
    return np.array(best, "float64")


def _f1(gold: list[str], predicted: list[str]) -> float:
    if not gold or not predicted:
        return gold == predicted
    common = collections.Counter(gold) & collections.Counter(predicted)
    num_common = sum(common.values())
    return 2 * num_common / (len(gold) + len(predicted))


def _words(text: str) -> list[str]:
    text = text.lower().translate(_NO_PUNCTUATION)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
