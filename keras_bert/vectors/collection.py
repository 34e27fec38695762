"""A collection of judged texts in BEIR's format -> its documents and queries.

`corpus.jsonl` has the `_id`, `title` and `text` of each document.
`queries.jsonl` has the `_id` and `text` of each query. `qrels/test.tsv` has a
header and the columns `query-id`, `corpus-id` and `score`, a whole number. If
the columns have other names, the first three are read in this order. The file
may instead be in trec_eval format, with four columns and no header.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.input_files import open_text
from keras_bert.io.paths import to_path
from keras_bert.settings import CheckedSettings, setting
from keras_bert.tasks import readers
from keras_bert.tasks.base import Row


@dataclasses.dataclass(frozen=True)
class RetrievalConfig(CheckedSettings):
    """The settings of a search in a collection, with BEIR's defaults.

    Example:
        >>> keras_bert.vectors.RetrievalConfig(top_k=100).similarity
        'model'

    Attributes:
        similarity: The similarity of two vectors: "cosine", "dot" (the dot
            product) or "model" (the similarity for which the model was
            trained).
        top_k: The number of documents to find for each query, at least 100.
        split: The name of the judgments, such as test for qrels/test.tsv.
        ignore_identical_ids: Whether to leave out a document that has the id of
            the query. In some collections, this document is the query itself.
        batch_size: The number of texts in a batch.
    """

    similarity: str = setting("model", choices=("model", "cosine", "dot"))
    top_k: int = setting(1000, minimum=100)
    split: str = "test"
    ignore_identical_ids: bool = True
    batch_size: int = 32


@dataclasses.dataclass(frozen=True)
class Collection:
    """A retrieval data set; only its queries and judgments are in memory.

    Attributes:
        folder: The folder of the files.
        queries: The text of each judged query, keyed by id.
        qrels: The relevance of each judged document, keyed by the query's id
            and then by the document's id.
    """

    folder: Path
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yields each document's id, and its title followed by its text."""
        for row in _rows(self.folder, _CORPUS, "document"):
            title = row.get("title", "")
            if not isinstance(title, str):
                raise InputError(
                    f"The title of document {row['_id']!r} is {title!r}; give "
                    "a string, or null for no title."
                )
            yield row["_id"], f"{title} {row['text']}".strip()

    def check_ids(self, ids: Sequence[str]) -> None:
        """Checks that the ids of the judged documents are in `ids`.

        Raises InputError if all of them are missing. The log warns if some are
        missing.
        """
        judged = set().union(*self.qrels.values())
        if unknown := judged.difference(ids):
            if unknown == judged:
                raise InputError(
                    "None of the judged documents, such as "
                    f"{min(unknown)!r}, is in {self.folder}; use the ids from "
                    f"{_CORPUS} in qrels."
                )
            logging.warning(
                "The corpus lacks %d judged documents, such as %r. They count "
                "as not found.",
                len(unknown),
                min(unknown),
            )


_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
_BEIR_COLUMNS = "query-id", "corpus-id", "score"
_NUMBER = r"-?\d+"


def read_collection(data_dir: str | Path, split: str = "test") -> Collection:
    """Returns the collection in a folder in BEIR's format.

    Raises FileNotFoundError if a file is missing, and InputError if a line is
    invalid or a judged query has no text.
    """
    folder = to_path(data_dir)
    name = f"qrels/{split}.tsv"
    for file in (_CORPUS, _QUERIES, name):
        if not (folder / file).is_file():
            raise FileNotFoundError(
                f"{folder} has no {file}; give a folder in BEIR's format, with "
                f"{_CORPUS}, {_QUERIES} and {name}."
            )
    texts = {x["_id"]: x["text"] for x in _rows(folder, _QUERIES, "query")}
    qrels: dict[str, dict[str, int]] = {}
    for query, document, relevance in _judgments(folder, name):
        if query not in texts:
            raise InputError(
                f"{folder / name} judges the query {query!r}, but {_QUERIES} "
                "has no such query; add the query, or remove its judgments."
            )
        if not re.fullmatch(_NUMBER, relevance):
            raise InputError(
                f"The relevance of {document!r} for the query {query!r} in "
                f"{folder / name} is {relevance!r}, but must be a whole number."
            )
        value, judged = int(relevance), qrels.setdefault(query, {})
        if judged.setdefault(document, value) != value:
            raise InputError(
                f"{folder / name} judges {document!r} for the query {query!r} "
                "twice, with different relevances; remove one of the lines."
            )
    return Collection(folder, {query: texts[query] for query in qrels}, qrels)


def _judgments(folder: Path, name: str) -> Iterator[Sequence[str]]:
    """Yields the query, the document and the relevance of each judgment."""
    with open_text(folder / name, errors="strict") as lines:
        first = lines.readline().split()
    if len(first) < 3 or not re.fullmatch(_NUMBER, first[-1]):
        columns: dict[str, int | str] = {x: x for x in _BEIR_COLUMNS}
        if not columns.keys() <= {*first}:  # other names, in the usual order
            columns = {x: i for i, x in enumerate(_BEIR_COLUMNS)}
        read = readers.tsv(columns=columns, header=True, test=name)
        for row in read(folder, "test"):
            yield [row[column] for column in columns]
    elif len(first) == 4:
        yield from _judgments_of_trec(folder / name)
    else:
        raise InputError(
            f"The first line of {folder / name} is a judgment, but must be a "
            "header, such as query-id, corpus-id and score."
        )


def _judgments_of_trec(file: Path) -> Iterator[Sequence[str]]:
    with open_text(file, errors="strict") as lines:
        for number, line in enumerate(lines, 1):
            values = line.split()
            if len(values) not in (0, 4):
                raise InputError(
                    f"Line {number} of {file} has {len(values)} columns, but "
                    "the first line has the 4 columns of trec_eval: query, 0, "
                    "document, relevance; correct the line."
                )
            if values:
                yield values[0], values[2], values[3]


def _rows(folder: Path, name: str, what: str) -> Iterator[Row]:
    """Yields the rows of a JSON lines file.

    Raises InputError if a row has no text or no unique id.
    """
    known: set[str] = set()
    for number, row in enumerate(readers.jsonl(test=name)(folder, "test"), 1):
        for field in ("_id", "text"):
            if not isinstance(row.get(field), str):
                raise InputError(
                    f"The {field} of {what} {number} of {folder / name} is "
                    "missing or not a text."
                )
        if row["_id"] in known:
            raise InputError(
                f"{what.capitalize()} {number} of {folder / name} has the "
                f"id {row['_id']!r}, which another {what} has already; make "
                "the ids unique."
            )
        known.add(row["_id"])
        yield row
