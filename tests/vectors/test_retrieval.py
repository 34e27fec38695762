import dataclasses
import gzip
import json
import random

import numpy as np
import pytest
from conftest import WORDS

from keras_bert.errors import InputError
from keras_bert.vectors import retrieval as module
from keras_bert.vectors.collection import RetrievalConfig, read_collection
from keras_bert.vectors.retrieval import evaluate_retrieval, score_run

NUM_DOCUMENTS, NUM_QUERIES = 137, 7


def _write_lines(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def collection(tmp_path):
    """The query 3 is also a document; the last query is not judged."""
    rng = random.Random(5)
    folder = tmp_path / "data"
    (folder / "qrels").mkdir(parents=True)
    texts = [
        " ".join(rng.choices(WORDS, k=rng.randint(2, 6)))
        for _ in range(NUM_DOCUMENTS + NUM_QUERIES)
    ]
    documents = [
        {"_id": f"d{i}", "title": text.split()[0], "text": text}
        for i, text in enumerate(texts[:NUM_DOCUMENTS])
    ]
    queries = [
        {"_id": f"q{i}", "text": text}
        for i, text in enumerate(texts[NUM_DOCUMENTS:])
    ]
    documents[20] |= {"_id": "q3", "title": "", "text": queries[3]["text"]}
    del documents[21]["title"]
    documents[22]["title"] = None
    lines = ["query-id\tcorpus-id\tscore"]
    for query in queries[:-1]:
        judged = rng.sample(documents, 23)
        lines += [
            f"{query['_id']}\t{x['_id']}\t{rng.randint(0, 2)}" for x in judged
        ]
    _write_lines(folder / "corpus.jsonl", documents)
    _write_lines(folder / "queries.jsonl", queries)
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines))
    return folder, documents, queries[:-1]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "_DOCUMENTS_PER_CHUNK", 100)


def _expected_run(embedder, documents, queries, top_k, ignore):
    texts = [f"{x.get('title') or ''} {x['text']}".strip() for x in documents]
    scores = (
        embedder.embed([x["text"] for x in queries]) @ embedder.embed(texts).T
    )
    run = {}
    for query, row in zip(queries, scores, strict=True):
        ids = [documents[i]["_id"] for i in np.argsort(-row, kind="stable")]
        ids = [x for x in ids if not ignore or x != query["_id"]]
        run[query["_id"]] = ids[:top_k]
    return run


@pytest.mark.parametrize("ignore", [True, False])
def test_all_documents_are_searched(embedder, collection, tmp_path, ignore):
    folder, documents, queries = collection
    config = RetrievalConfig(
        top_k=110, ignore_identical_ids=ignore, batch_size=9
    )
    results = evaluate_retrieval(embedder, folder, tmp_path / "out", config)
    expected = _expected_run(embedder, documents, queries, 110, ignore)
    run, found = {}, {}
    for line in (tmp_path / "out" / "run.trec").read_text().splitlines():
        query, _, document, _, score, name = line.split()
        run.setdefault(query, {})[document] = float(score)
        found.setdefault(query, []).append(document)
        assert name == "keras_bert"
    for query, ids in expected.items():
        # Equal texts have scores that differ in the last bit.
        assert len(found[query]) == 110
        assert len(set(found[query]) & set(ids)) >= 108
        assert ("q3" in found[query][:1]) == (query == "q3" and not ignore)
    qrels: dict = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, relevance = line.split("\t")
        qrels.setdefault(query, {})[document] = int(relevance)
    assert results == score_run(qrels, run)
    written = json.loads((tmp_path / "out" / "eval_results.json").read_text())
    assert written == results
    assert 0 < results["ndcg@10"] < results["recall@100"] < 1


@pytest.mark.parametrize(
    "prompts, query, document",
    [
        ({"query": "very good ", "passage": "bad "}, "very good ", "bad "),
        ({"query": "the ", "document": "", "corpus": "bad "}, "the ", ""),
        ({"corpus": "not ", "other": "is "}, "", "not "),
        # As in sentence-transformers, no role has the default prompt.
        ({"query": "the ", "s2s": "is "}, "the ", ""),
        ({"s2s": "is "}, "", ""),
    ],
)
def test_prompts_stand_before_queries_and_documents(
    embedder, collection, monkeypatch, logged, prompts, query, document
):
    folder, *_ = collection
    with monkeypatch.context() as patches:
        settings = dataclasses.replace(
            embedder.settings,
            prompts=prompts,
            default_prompt_name="s2s" if "s2s" in prompts else "",
        )
        patches.setattr(embedder, "settings", settings)
        results = evaluate_retrieval(embedder, folder)
    assert f"prompt is {query!r} for queries, and {document!r} for" in (
        logged.text
    )
    for file, prompt in (("queries.jsonl", query), ("corpus.jsonl", document)):
        rows = map(json.loads, (folder / file).read_text().splitlines())
        texts = {
            row["_id"]: f"{prompt}{row.get('title') or ''} {row['text']}"
            for row in rows
        }
        rows = [{"_id": id_, "text": text} for id_, text in texts.items()]
        _write_lines(folder / file, rows)
    assert evaluate_retrieval(embedder, folder) == results


def test_prompts_of_other_names_are_warned_of(embedder, caplog):
    prompts = {"s2p_query": "the "}
    settings = dataclasses.replace(embedder.settings, prompts=prompts)
    assert module._prompt_names(settings) == ["", ""]
    assert "has the prompts s2p_query, but none is named query" in caplog.text


def test_the_similarity_is_that_of_the_model(embedder, collection, monkeypatch):
    chosen, search = [], module.TopVectors

    def searched(*args, similarity):
        chosen.append(similarity)
        return search(*args, similarity=similarity)

    monkeypatch.setattr(module, "TopVectors", searched)
    for given, of_model in (
        ("model", "cosine"),
        ("model", "dot"),
        ("dot", "cosine"),
    ):
        settings = dataclasses.replace(embedder.settings, similarity=of_model)
        monkeypatch.setattr(embedder, "settings", settings)
        config = RetrievalConfig(given)
        evaluate_retrieval(embedder, collection[0], config=config)
    assert chosen == ["cosine", "dot", "dot"]


def test_a_judged_document_that_the_corpus_lacks_is_told(
    embedder, collection, caplog
):
    folder, documents, _ = collection
    before = evaluate_retrieval(embedder, folder)
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("\nq0\tabsent\t1")
    after = evaluate_retrieval(embedder, folder)
    assert "The corpus lacks 1 judged documents, such as 'absent'" in (
        caplog.text
    )
    assert after["recall@100"] < before["recall@100"]


@pytest.mark.parametrize("separator", ["\t", " "])
def test_judgments_of_trec_are_those_of_beir(collection, separator):
    file = collection[0] / "qrels" / "test.tsv"
    expected = read_collection(collection[0]).qrels
    lines = []
    for line in file.read_text().splitlines()[1:]:
        query, document, relevance = line.split("\t")
        lines.append(separator.join((query, "0", document, relevance)))
    file.write_text("\n".join(lines) + "\n\n")
    assert read_collection(collection[0]).qrels == expected
    file.write_text("\n".join([*lines, "q0 d1 1"]))
    with pytest.raises(InputError, match="has 3 columns, but the first line"):
        read_collection(collection[0])
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert read_collection(collection[0]).qrels == expected
    file.write_bytes("q0 0 dé 1".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8"):
        read_collection(collection[0])
    file.write_text("q0\td1\t1\n")
    with pytest.raises(InputError, match="a judgment, but must be a header"):
        read_collection(collection[0])


def test_judgments_are_read_by_the_names_of_their_columns(collection):
    file = collection[0] / "qrels" / "test.tsv"
    expected = read_collection(collection[0]).qrels
    rows = [x.split("\t") for x in file.read_text().splitlines()]
    file.write_text("\n".join("\t".join((x[2], x[0], "0", x[1])) for x in rows))
    assert read_collection(collection[0]).qrels == expected
    rows[0] = ["qid", "docid", "rel"]
    file.write_text("\n".join(map("\t".join, rows)))
    assert read_collection(collection[0]).qrels == expected


def test_an_id_that_a_run_file_cannot_have_is_named_before_the_search(
    embedder, collection, tmp_path, monkeypatch
):
    folder, documents, _ = collection
    documents[-1]["_id"] = "d 1"
    _write_lines(folder / "corpus.jsonl", documents)
    assert evaluate_retrieval(embedder, folder)
    monkeypatch.setattr(module, "TopVectors", None)
    with pytest.raises(InputError, match="The id 'd 1' is empty or has white"):
        evaluate_retrieval(embedder, folder, tmp_path / "out")


def test_a_collection_without_any_judged_document_is_refused(
    embedder, collection, monkeypatch
):
    monkeypatch.setattr(module, "TopVectors", None)
    file = collection[0] / "qrels" / "test.tsv"
    file.write_text("query-id\tcorpus-id\tscore\nq0\tabsent\t1\n")
    with pytest.raises(InputError, match="None of the judged documents, such"):
        evaluate_retrieval(embedder, collection[0])


@pytest.mark.parametrize("name", ["best", "checkpoints"])
def test_the_metrics_of_a_run_are_not_replaced(embedder, tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="contains a run, .* another folder"):
        evaluate_retrieval(embedder, "no collection", tmp_path)


@pytest.mark.parametrize(
    "file", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
)
def test_a_missing_file_is_named(embedder, collection, tmp_path, file):
    folder, *_ = collection
    (folder / file).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {file}; give a fol"):
        evaluate_retrieval(embedder, folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "file, line, message",
    [
        ("qrels/test.tsv", "q99\td1\t1", "judges the query 'q99', but quer"),
        ("qrels/test.tsv", "q1\td1\tyes", "for the query 'q1' in .* is 'yes'"),
        ("qrels/test.tsv", "q1\td\t0\nq1\td\t2", "'d' for .* 'q1' twice, wi"),
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}', "has the id 'd1', wh"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}', "has the id 'q1', wh"),
        (
            "corpus.jsonl",
            '{"_id": "x", "title": ["a"], "text": "b"}',
            r"The title of document 'x' is \['a'\]; give a string",
        ),
        ("corpus.jsonl", '{"_id": "x"}', "text of document 138 of .* missing"),
        ("queries.jsonl", '{"text": "a"}', "The _id of query 8 of .* is miss"),
    ],
)
def test_wrong_files_are_refused(collection, file, line, message):
    folder, *_ = collection
    with (folder / file).open("a") as opened:
        opened.write(f"\n{line}\n")
    with pytest.raises(InputError, match=message):
        list(read_collection(folder).documents())


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"similarity": "l2"}, "similarity is 'l2', but must be one of model"),
        ({"top_k": 50}, "top_k is 50, but must be at least 100"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        RetrievalConfig(**changes)


def test_scores_may_be_numbers_of_numpy():
    qrels = {"q": {"a": np.int64(1), "b": 0.0}}
    run = {"q": {"a": np.float32(0.5), "b": np.float64(0.9)}}
    assert score_run(qrels, run)["mrr@10"] == 0.5
    with pytest.raises(InputError, match="relevance of b for q is 0.5, but"):
        score_run({"q": {"b": 0.5}}, run)
    for relevance in (2**31 - 1, -(10**30)):  # trec_eval would crash
        with pytest.raises(InputError, match="a whole number up to 1000000"):
            score_run({"q": {"b": relevance}}, run)
    with pytest.raises(InputError, match="score of a for q is nan, which can"):
        score_run(qrels, {"q": {"a": np.float32("nan")}})
