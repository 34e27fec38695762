"""An embedder and a judged collection -> metrics and a run file."""

import itertools
import math
import numbers
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from keras_bert.checkpoints.find import check_output_dir
from keras_bert.errors import InputError, import_extra
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, write_json
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.fields import check_text
from keras_bert.progress import Progress
from keras_bert.text.prompts import prompt_of_role
from keras_bert.vectors.collection import RetrievalConfig, read_collection
from keras_bert.vectors.embedder import Embedder
from keras_bert.vectors.exact_search import TopVectors

# The relevance of each judged document, keyed by the query's id and then by the
# document's id: an integer, which is 0 or less if the document is not relevant.
Qrels = Mapping[str, Mapping[str, int]]
# The score of each document that was found, keyed like Qrels.
Run = Mapping[str, Mapping[str, float]]

# Our names of metrics, and their names in trec_eval.
_METRICS = {
    "ndcg@10": "ndcg_cut_10",
    "mrr@10": "recip_rank",
    "recall@10": "recall_10",
    "recall@100": "recall_100",
    "map": "map",
}
_TREC_EVAL = ("pytrec_eval", "retrieval")  # the module, and our extra for it
_MAX_RELEVANCE = 1_000_000
# The folders by which the output_dir of a training run is recognized.
_OF_RUNS = ("best", "checkpoints")
# The number of documents that are in memory at once.
_DOCUMENTS_PER_CHUNK = 8192


def evaluate_retrieval(
    embedder: Embedder,
    data_dir: str | Path,
    output_dir: str | Path | None = None,
    config: RetrievalConfig | None = None,
) -> dict[str, float]:
    """Returns the metrics of an embedder that finds documents for queries.

    Each document is compared with each judged query. Neither the documents nor
    their vectors need to fit into memory. If the model has a prompt named
    "query", this prompt precedes each query. If it has a prompt named
    "document", "passage" or "corpus", the first of these precedes each
    document. Without such a prompt, nothing precedes the texts, not even the
    default prompt. The log shows both prompts. This function needs the extra
    `retrieval`.

    Example:
        >>> import os
        >>> os.makedirs("fables/qrels")
        >>> for name, text in {
        ...     "corpus.jsonl": '{"_id": "d1", "title": "", "text": "the fox"}',
        ...     "queries.jsonl": '{"_id": "q1", "text": "a fox"}',
        ...     "qrels/test.tsv": "query-id\\tcorpus-id\\tscore\\nq1\\td1\\t1",
        ... }.items():
        ...     with open(f"fables/{name}", "w") as file:
        ...         _ = file.write(text + "\\n")
        >>> embedder = keras_bert.load_embedder("pretrained", max_seq_length=16)
        >>> scores = keras_bert.vectors.evaluate_retrieval(
        ...     embedder, "fables", "scores"
        ... )
        >>> scores["mrr@10"]
        1.0
        >>> sorted(os.listdir("scores"))
        ['eval_results.json', 'run.trec']

    Args:
        embedder: The embedder that `load_embedder` returned.
        data_dir: A folder in BEIR's format: `corpus.jsonl`, `queries.jsonl`
            and `qrels/test.tsv`.
        output_dir: A folder for `eval_results.json`, with the metrics, and
            `run.trec`, with the documents that were found, in TREC format; None
            writes nothing.
        config: The settings of the search.

    Returns:
        The metrics that `score_run` describes. `map` is computed on the first
        `top_k` documents.

    Raises:
        FileNotFoundError: If a file is missing.
        InputError: If a line of a file is invalid, if trec_eval is missing, or
            if `output_dir` contains a training run.
    """
    import_extra(*_TREC_EVAL)  # now, not after hours of search
    if output_dir is not None:
        check_output_dir(output_dir)
        if any((to_path(output_dir) / x).is_dir() for x in _OF_RUNS):
            raise InputError(
                f"The output_dir {output_dir} contains a run, whose "
                "eval_results.json would be replaced; give another folder."
            )
    config = RetrievalConfig.checked(config)
    similarity = config.similarity
    if similarity == "model":
        similarity = embedder.settings.similarity
    of_queries, of_documents = _prompt_names(embedder.settings)
    collection = read_collection(data_dir, config.split)
    # A wrong line or id is found now, not after hours of search.
    ids = [id_ for id_, _ in collection.documents()]
    collection.check_ids(ids)
    if output_dir is not None:
        _check_run_ids((*collection.queries, *ids))
    num_cut = 0

    def embed(texts: Any, prompt_name: Any, progress: Any = None) -> np.ndarray:
        nonlocal num_cut
        vectors, truncated = embedder.embed_and_tell(
            texts,
            prompt_name=prompt_name,
            batch_size=config.batch_size,
            progress=progress,
        )
        num_cut += int(truncated.sum())
        return vectors

    queries = embed(list(collection.queries.values()), of_queries)
    # One more document is searched for, because one may be left out.
    num_found = config.top_k + config.ignore_identical_ids
    search = TopVectors(queries, num_found, similarity=similarity)
    texts = (text for _, text in collection.documents())
    with Progress("Searching", len(ids), "documents") as progress:
        while chunk := list(itertools.islice(texts, _DOCUMENTS_PER_CHUNK)):
            search.add(embed(chunk, of_documents, progress))
    embedder.log_truncated(num_cut, len(ids) + len(queries))
    run = {}
    rows = zip(collection.queries, *search.found, strict=True)
    for query, places, scores in rows:
        run[query] = {
            ids[place]: float(score)
            for place, score in zip(places, scores, strict=True)
            if not (config.ignore_identical_ids and ids[place] == query)
        }
        if len(run[query]) > config.top_k:
            run[query].popitem()
    results = score_run(collection.qrels, run)
    if output_dir is not None:
        write_run(to_path(output_dir) / "run.trec", run)
        write_json(to_path(output_dir) / "eval_results.json", results)
    return results


def _prompt_names(settings: EmbeddingSettings) -> list[str]:
    """Returns the names of the prompts for queries and for documents.

    "" means no prompt.
    """
    prompts = settings.named_prompts
    chosen = [prompt_of_role(prompts, is_query=x) for x in (True, False)]
    if any(prompts.values()):
        logging.info(
            "The prompt is %r for queries, and %r for documents.",
            *map(settings.prompt, chosen),
        )
    if any(prompts.values()) and not any(chosen):
        logging.warning(
            "The model has the prompts %s, but none is named query, document, "
            "passage or corpus, so no prompt is used. To use prompts, give "
            "them under these names.",
            ", ".join(prompts),
        )
    return chosen


def score_run(qrels: Qrels, run: Run) -> dict[str, float]:
    """Returns the mean metrics of the judged queries, as in trec_eval.

    Queries without a judgment do not count. A judged query that is missing from
    the run has the score 0. This function needs the extra `retrieval`.

    Example:
        >>> qrels = {"q": {"d1": 1, "d2": 2}}
        >>> run = {"q": {"d1": 0.9, "d3": 0.8, "d2": 0.7}}
        >>> scores = keras_bert.vectors.score_run(qrels, run)
        >>> round(scores["ndcg@10"], 3), scores["mrr@10"]
        (0.76, 1.0)

    Args:
        qrels: The relevance of each judged document, keyed by the query's id
            and then by the document's id. A document without a judgment is not
            relevant.
        run: The score of each document that was found, keyed like `qrels`.

    Returns:
        ndcg@10: Jarvelin and Kekalainen's gain of the first 10 documents,
            divided by the gain of the first 10 in the best order. A document's
            gain is its relevance, divided by log2(rank + 1).
        mrr@10: 1 / the rank of the first relevant document; 0 if this document
            is not among the first 10.
        recall@10, recall@100: The share of the relevant documents that are
            among the first 10 or 100.
        map: The mean precision at the ranks of the relevant documents; a
            relevant document that was not found counts as 0.

    Raises:
        InputError: If there is no judged query or none in the run, if an id is
            not a string, a relevance not a whole number or a score not a
            number, or if trec_eval is missing.
    """
    if not qrels:
        raise InputError("There is no judged query; give qrels with a query.")

    def is_real(x: Any) -> bool:  # NumPy's numbers are real too
        return isinstance(x, numbers.Real)

    for query, relevances in qrels.items():
        for document, relevance in relevances.items():
            is_whole = is_real(relevance) and relevance % 1 == 0
            # trec_eval makes a table of all numbers up to the largest.
            if not (is_whole and abs(relevance) <= _MAX_RELEVANCE):
                raise InputError(
                    f"The relevance of {document} for {query} is "
                    f"{relevance!r}, but must be a whole number up to "
                    f"{_MAX_RELEVANCE}."
                )
    for query, scores in run.items():
        for document, score in scores.items():
            if not is_real(score) or math.isnan(score):
                raise InputError(
                    f"The score of {document} for {query} is {score}, which "
                    "cannot be ranked; check the model that made the run."
                )
    for id_ in itertools.chain(qrels, *qrels.values(), run, *run.values()):
        check_text(id_, f"The id {id_!r} in qrels or run")
    if run and not qrels.keys() & run.keys():
        raise InputError(
            f"The run has queries such as {next(iter(run))!r}, but qrels "
            f"judges only others, such as {next(iter(qrels))!r}; use the same "
            "ids."
        )
    evaluator = import_extra(*_TREC_EVAL).RelevanceEvaluator(
        # The C code of pytrec_eval does not accept NumPy numbers.
        {q: {d: int(x) for d, x in qrels[q].items()} for q in qrels},
        set(_METRICS.values()),
    )
    rows = evaluator.evaluate(
        {q: {d: float(x) for d, x in run.get(q, {}).items()} for q in qrels}
    ).values()
    for row in rows:
        if row["recip_rank"] < 1 / 10:  # trec_eval looks at all ranks
            row["recip_rank"] = 0.0
    return {
        name: math.fsum(row[of_trec] for row in rows) / len(qrels)
        for name, of_trec in _METRICS.items()
    }


def write_run(path: str | Path, run: Run) -> None:
    """Writes a run file, with lines `query Q0 document rank score keras_bert`.

    As in trec_eval, scores are compared in float32, and documents with the same
    score are in descending order of their ids. The file appears when it is
    complete. Raises InputError if an id is empty or has white space.
    """
    _check_run_ids(itertools.chain(run, *run.values()))
    with atomic_path(path) as new, new.open("w", encoding="utf-8") as file:
        for query, documents in run.items():
            ranked = sorted(
                ((np.float32(score), id_) for id_, score in documents.items()),
                reverse=True,
            )
            for rank, (score, document) in enumerate(ranked, 1):
                # Nine digits tell any two float32 numbers apart.
                line = f"{query} Q0 {document} {rank} {score:.9g} keras_bert\n"
                file.write(line)


def _check_run_ids(ids: Iterable[str]) -> None:
    """Raises InputError if a run file cannot have one of the ids."""
    for id_ in ids:
        if id_.split() != [id_]:
            raise InputError(
                f"The id {id_!r} is empty or has white space, which a run file "
                "cannot have; change the ids of the data set."
            )
