import math
import random
import sys

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.vectors.retrieval import score_run, write_run

pytrec_eval = pytest.importorskip("pytrec_eval")
DOCUMENTS = [f"{'dD한'[i % 3]}{i}" for i in range(307)]


def _random_run(seed):
    """Judgments and scores with ties, also in float32 only."""
    rng = random.Random(seed)
    qrels, run = {}, {}
    for query in map(str, range(13)):
        judged = rng.sample(DOCUMENTS, 41)
        qrels[query] = {d: rng.choice([-1, 0, 0, 1, 2, 3]) for d in judged}
        scores = [0.5, 0.5 + 1e-9, 0.25, -1.0, rng.random()]
        run[query] = {d: rng.choice(scores) for d in rng.sample(DOCUMENTS, 151)}
    qrels["4"] = dict.fromkeys(DOCUMENTS[:3], 0)  # none is relevant
    return qrels, run


def _rank(scores):
    """Scores are compared in float32, then the ids, the last one first."""
    return sorted(scores, key=lambda d: (np.float32(scores[d]), d))[::-1]


def _gain(relevances):
    return sum(x / math.log2(place + 2) for place, x in enumerate(relevances))


def _scores_of_query(judged, scores):
    """The metrics by their definitions."""
    found = [max(judged.get(document, 0), 0) for document in _rank(scores)]
    best = sorted((x for x in judged.values() if x > 0), reverse=True)
    ranks = [place for place, gain in enumerate(found, 1) if gain]
    num_relevant = len(best) or 1
    precisions = [number / place for number, place in enumerate(ranks, 1)]
    return {
        "ndcg@10": _gain(found[:10]) / (_gain(best[:10]) or 1),
        "mrr@10": 1 / ranks[0] if ranks and ranks[0] <= 10 else 0.0,
        "recall@10": sum(x <= 10 for x in ranks) / num_relevant,
        "recall@100": sum(x <= 100 for x in ranks) / num_relevant,
        "map": sum(precisions) / num_relevant,
    }


@pytest.mark.parametrize("seed", range(5))
def test_the_metrics_equal_their_definitions(seed):
    qrels, run = _random_run(seed)
    rows = [_scores_of_query(qrels[query], run[query]) for query in qrels]
    expected = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
    assert score_run(qrels, run) == pytest.approx(expected, abs=1e-12)


def test_a_first_hit_at_rank_11_has_no_reciprocal_rank():
    for place, expected in ((10, 1 / 10), (11, 0.0)):
        run = {"q": {f"d{i}": -float(i) for i in range(1, 20)}}
        scores = score_run({"q": {f"d{place}": 1}}, run)
        assert scores["mrr@10"] == pytest.approx(expected)


def test_a_judged_query_that_is_missing_or_empty_counts_as_0():
    qrels, run = _random_run(7)
    del run["2"]
    run["5"] = {}
    some = {q: judged for q, judged in qrels.items() if q not in ("2", "5")}
    whole, rest = score_run(qrels, run), score_run(some, run)
    for name, value in whole.items():
        assert value == pytest.approx(rest[name] * 11 / 13), name


def test_a_run_file_holds_the_same_order_and_scores(tmp_path):
    qrels, run = _random_run(8)
    write_run(tmp_path / "run.trec", run)
    with (tmp_path / "run.trec").open(encoding="utf-8") as file:
        lines = [line.split() for line in file]
    assert {(q0, name) for _, q0, _, _, _, name in lines} == {
        ("Q0", "keras_bert")
    }
    read: dict = {}
    for query, _, document, place, score, _ in lines:
        found = read.setdefault(query, {})
        found[document] = float(score)
        assert int(place) == len(found)
    assert {query: list(found) for query, found in read.items()} == {
        query: _rank(scores) for query, scores in run.items()
    }
    assert score_run(qrels, read) == score_run(qrels, run)
    with (tmp_path / "run.trec").open(encoding="utf-8") as file:
        assert pytrec_eval.parse_run(file) == read


def test_an_id_with_white_space_is_refused(tmp_path):
    with pytest.raises(InputError, match="'a b' is empty or has white space"):
        write_run(tmp_path / "run.trec", {"q": {"a b": 1.0}})
    assert not list(tmp_path.iterdir())


def test_without_trec_eval_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    with pytest.raises(InputError, match="pip install 'keras-bert-tf.retriev"):
        score_run({"q": {"d": 1}}, {})


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"q": {"d": math.nan}}, {}, "of d for q is nan, but must be a whole"),
        ({"q": {"d": "1"}}, {}, "of d for q is '1', but must be a whole"),
        ({"q": {"d": 1}}, {"q": {"d": "1"}}, "score of d for q is 1, which"),
        ({1: {"d": 1}}, {}, "The id 1 in qrels or run is 1; give a string"),
        ({"q": {"d": 1}}, {"q": {5: 0.1}}, "The id 5 in qrels or run is 5"),
        ({"q1": {"d": 1}}, {"q01": {"d": 0.1}}, "such as 'q1'; use the same"),
    ],
)
def test_judgments_and_runs_that_cannot_be_scored(qrels, run, message):
    with pytest.raises(InputError, match=message):
        score_run(qrels, run)
