"""Texts with judgments, in the files of BEIR.

`corpus.jsonl` has `_id`, `title` and `text` of each document, `queries.jsonl`
`_id` and `text` of each query. `qrels/test.tsv` has a header and then the ids
of a query and of a document, and the relevance, a whole number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.tasks import readers


class Document(NamedTuple):
    """A document; `text` begins with the title."""

    id: str
    text: str


@dataclasses.dataclass(frozen=True)
class Collection:
    """A retrieval data set; only its queries and judgments are in memory.

    Attributes:
        folder: The folder of the files.
        queries: The text of each judged query, by id.
        qrels: The relevance of the judged documents, by query and document.
    """

    folder: Path
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    def documents(self) -> Iterator[Document]:
        """Reads the documents one after the other."""
        for number, row in enumerate(_json_lines(self.folder, _CORPUS), 1):
            place = f"document {number} of {self.folder / _CORPUS}"
            _check(row, place)
            text = f"{row.get('title', '')} {row['text']}".strip()
            yield Document(row["_id"], text)


_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"


def read_collection(data_dir: str | Path, split: str = "test") -> Collection:
    """Reads the queries and the judgments of a folder in BEIR's format.

    Raises FileNotFoundError if a file is missing, and InputError if a line is
    wrong or a judged query has no text.
    """
    folder = to_path(data_dir)
    name = f"qrels/{split}.tsv"
    for file in (_CORPUS, _QUERIES, name):
        if not (folder / file).is_file():
            raise FileNotFoundError(
                f"{folder} has no {file}; give a folder in BEIR's format, with "
                f"{_CORPUS}, {_QUERIES} and {name}."
            )
    texts = {}
    for number, row in enumerate(_json_lines(folder, _QUERIES), 1):
        _check(row, f"query {number} of {folder / _QUERIES}")
        texts[row["_id"]] = row["text"]
    qrels: dict[str, dict[str, int]] = {}
    columns = {"query": 0, "document": 1, "relevance": 2}
    read = readers.tsv(columns=columns, test_columns=columns, test=name)
    for row in read(folder, "test"):
        query, document = row["query"], row["document"]
        if query not in texts:
            raise InputError(
                f"{folder / name} judges the query {query!r}, which "
                f"{_QUERIES} does not have."
            )
        try:
            relevance = int(row["relevance"])
        except ValueError as error:
            raise InputError(
                f"The relevance of {document!r} for the query {query!r} in "
                f"{folder / name} is {row['relevance']!r}, but must be a whole "
                "number."
            ) from error
        qrels.setdefault(query, {})[document] = relevance
    return Collection(folder, {query: texts[query] for query in qrels}, qrels)


def warn_of_unknown(qrels: Mapping[str, Mapping[str, int]], known: set) -> None:
    """Warns of judged documents that the corpus does not have."""
    unknown = {d for judged in qrels.values() for d in judged} - known
    if unknown:
        logging.warning(
            "The corpus lacks %d judged documents, such as %r. They count as "
            "not found.",
            len(unknown),
            min(unknown),
        )


def _json_lines(folder, name):
    return readers.jsonl(test=name)(folder, "test")


def _check(row, place):
    for field in ("_id", "text"):
        if not isinstance(row.get(field), str):
            raise InputError(
                f"The {field} of {place} is missing or not a text."
            )
