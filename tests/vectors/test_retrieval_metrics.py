import random

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.vectors.retrieval_metrics import rank, score_run
from keras_bert.vectors.run_file import write_run

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


@pytest.mark.parametrize("seed", range(5))
def test_the_metrics_are_those_of_trec_eval(seed):
    qrels, run = _random_run(seed)
    names = {"ndcg_cut_10", "recip_rank", "recall_10", "recall_100", "map"}
    rows = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values()
    assert len(rows) == len(qrels)

    def mean(name):
        return np.mean([row[name] for row in rows])

    # trec_eval has no mrr@10.
    first = [row["recip_rank"] for row in rows]
    assert score_run(qrels, run) == pytest.approx(
        {
            "ndcg@10": mean("ndcg_cut_10"),
            "mrr@10": np.mean([x if x >= 1 / 10 else 0 for x in first]),
            "recall@10": mean("recall_10"),
            "recall@100": mean("recall_100"),
            "map": mean("map"),
        },
        abs=1e-12,
    )


def test_a_judged_query_that_is_missing_counts_as_0():
    qrels, run = _random_run(7)
    del run["2"]
    some = {query: judged for query, judged in qrels.items() if query != "2"}
    whole, rest = score_run(qrels, run), score_run(some, run)
    for name, value in whole.items():
        assert value == pytest.approx(rest[name] * 12 / 13), name


def test_equal_scores_are_in_falling_order_of_their_ids():
    assert rank({"b": 0.5, "a": 0.5 + 1e-9, "c": 0.1, "B": 0.5}) == [
        *("b", "a", "B", "c")
    ]


def test_a_run_file_holds_the_same_order_and_scores(tmp_path):
    qrels, run = _random_run(8)
    write_run(tmp_path / "run.trec", run, "minilm")
    with (tmp_path / "run.trec").open(encoding="utf-8") as file:
        lines = [line.split() for line in file]
    assert {(q0, name) for _, q0, _, _, _, name in lines} == {("Q0", "minilm")}
    read: dict = {}
    for query, _, document, place, score, _ in lines:
        found = read.setdefault(query, {})
        found[document] = float(score)
        assert int(place) == len(found)
    assert {query: list(found) for query, found in read.items()} == {
        query: rank(scores) for query, scores in run.items()
    }
    assert score_run(qrels, read) == score_run(qrels, run)
    with (tmp_path / "run.trec").open(encoding="utf-8") as file:
        assert pytrec_eval.parse_run(file) == read


def test_an_id_with_white_space_is_refused(tmp_path):
    with pytest.raises(InputError, match="'a b' is empty or has white space"):
        write_run(tmp_path / "run.trec", {"q": {"a b": 1.0}}, "minilm")
    assert not list(tmp_path.iterdir())
