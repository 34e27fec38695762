"""trec_eval: metrics of retrieval, and the files of runs that it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np

from keras_bert.errors import InputError
from keras_bert.io.whole_files import atomic_path

# Judged documents by query: an integer, 0 or less if it is not relevant.
Qrels = Mapping[str, Mapping[str, int]]
# Scores of the documents that were found, by query.
Run = Mapping[str, Mapping[str, float]]

# Our names of metrics, and their names in trec_eval.
_METRICS = {
    "ndcg@10": "ndcg_cut_10",
    "mrr@10": "recip_rank",
    "recall@10": "recall_10",
    "recall@100": "recall_100",
    "map": "map",
}


def import_trec_eval() -> ModuleType:
    """Raises InputError if trec_eval is not installed."""
    try:
        import pytrec_eval
    except ImportError as error:
        raise InputError(
            "The metrics of retrieval need trec_eval; "
            "pip install 'keras-bert-tf[retrieval]'."
        ) from error
    return pytrec_eval


def score_run(qrels: Qrels, run: Run) -> dict[str, float]:
    """Returns the means over the judged queries, as trec_eval computes them.

    Queries without a judgment do not count. A judged query that is missing in
    the run has the score 0. Needs the extra `retrieval`.

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
        InputError: If there is no judged query, or trec_eval is missing.
    """
    if not qrels:
        raise InputError("There is no judged query, so nothing to score.")
    evaluator = import_trec_eval().RelevanceEvaluator(
        qrels, set(_METRICS.values())
    )
    rows = evaluator.evaluate({q: dict(run.get(q, {})) for q in qrels}).values()
    for row in rows:
        if row["recip_rank"] < 1 / 10:  # trec_eval looks at all ranks
            row["recip_rank"] = 0.0
    return {
        name: math.fsum(row[of_trec] for row in rows) / len(qrels)
        for name, of_trec in _METRICS.items()
    }


def write_run(path: str | Path, run: Run, name: str) -> None:
    """Writes lines `query Q0 document rank score name`, as trec_eval reads.

    As trec_eval does it, scores are compared in float32. Of documents with the
    same score, the one whose id is the last in the alphabet comes first. The
    file appears when it is whole. Raises InputError for an id with white space.
    """
    with (
        atomic_path(path) as partial,
        partial.open("w", encoding="utf-8") as file,
    ):
        for query, found in run.items():
            ranked = sorted(
                ((np.float32(score), id_) for id_, score in found.items()),
                reverse=True,
            )
            for place, (score, document) in enumerate(ranked, 1):
                for id_ in (query, document):
                    if id_.split() != [id_]:
                        raise InputError(
                            f"The id {id_!r} is empty or has white space, "
                            "which a run file cannot have; change the ids of "
                            "the data set."
                        )
                # Nine digits tell any two numbers of float32 apart.
                file.write(
                    f"{query} Q0 {document} {place} {score:.9g} {name}\n"
                )
