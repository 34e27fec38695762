"""The metrics of the script conlleval, which counts whole entities."""

from __future__ import annotations

from seqeval import metrics


def _of_entities(score):
    def of_tags(gold, predicted):
        gold, predicted = (
            [[_prefixed(tag) for tag in row] for row in rows]
            for rows in (gold, predicted)
        )
        return score(gold, predicted, zero_division=0)

    return of_tags


def _prefixed(tag):
    # seqeval needs a prefix.
    return tag if tag == "O" or tag[:2] in ("B-", "I-") else f"I-{tag}"


METRICS = {
    "f1": _of_entities(metrics.f1_score),
    "precision": _of_entities(metrics.precision_score),
    "recall": _of_entities(metrics.recall_score),
    # The accuracy counts words.
    "accuracy": metrics.accuracy_score,
}
