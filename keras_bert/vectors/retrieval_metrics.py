"""Metrics of retrieval, as trec_eval defines them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.errors import InputError

# Judged documents by query: an integer, 0 or less if it is not relevant.
Qrels = Mapping[str, Mapping[str, int]]
# Scores of the documents that were found, by query.
Run = Mapping[str, Mapping[str, float]]


def score_run(qrels: Qrels, run: Run) -> dict[str, float]:
    """Returns the means over the judged queries.

    Queries without a judgment do not count. A judged query that is missing in
    the run has the score 0.

    Example:
        >>> qrels = {"q": {"d1": 1, "d2": 2}}
        >>> run = {"q": {"d1": 0.9, "d3": 0.8, "d2": 0.7}}
        >>> scores = keras_bert.vectors.score_run(qrels, run)
        >>> round(scores["ndcg@10"], 3), scores["mrr@10"]
        (0.76, 1.0)

    Args:
        qrels: The relevance of judged documents, by query and document. A
            document without a judgment is not relevant.
        run: The scores of the documents that were found, by query.

    Returns:
        ndcg@10: Jarvelin and Kekalainen's gain, divided by the gain of the
            best order. A document's gain is its relevance, divided by
            log2(rank + 1).
        mrr@10: 1 / the rank of the first relevant document, 0 if it is not
            among the first 10.
        recall@10, recall@100: The share of the relevant documents that are
            among the first.
        map: The mean over the relevant documents of the precision at their
            ranks, 0 for documents that were not found.

    Raises:
        InputError: If there is no judged query.
    """
    if not qrels:
        raise InputError("There is no judged query, so nothing to score.")
    rows = [_of_query(qrels[q], run.get(q, {})) for q in qrels]
    return {
        name: math.fsum(row[name] for row in rows) / len(rows)
        for name in rows[0]
    }


def rank(scores: Mapping[str, float]) -> list[str]:
    """Returns documents, the best one first.

    As trec_eval does it: scores are compared in float32. Of documents with
    the same score, the one whose id is the last in the alphabet comes first.
    """
    return sorted(
        scores, key=lambda d: (np.float32(scores[d]), d), reverse=True
    )


def _of_query(judged: Mapping[str, int], scores: Mapping[str, float]):
    found = [max(judged.get(document, 0), 0) for document in rank(scores)]
    best = sorted((x for x in judged.values() if x > 0), reverse=True)
    ranks = [place for place, gain in enumerate(found, 1) if gain]
    # Without a relevant document, all metrics are 0.
    num_relevant = len(best) or 1
    precisions = [number / place for number, place in enumerate(ranks, 1)]
    return {
        "ndcg@10": _gain(found[:10]) / (_gain(best[:10]) or 1),
        "mrr@10": 1 / ranks[0] if ranks and ranks[0] <= 10 else 0.0,
        "recall@10": sum(x <= 10 for x in ranks) / num_relevant,
        "recall@100": sum(x <= 100 for x in ranks) / num_relevant,
        "map": math.fsum(precisions) / num_relevant,
    }


def _gain(relevances: Sequence[int]) -> float:
    return math.fsum(
        x / math.log2(place + 1) for place, x in enumerate(relevances, 1)
    )
