"""A run in the format of TREC: `query Q0 document rank score name`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keras_bert.errors import InputError
from keras_bert.io.whole_files import atomic_path
from keras_bert.vectors.retrieval_metrics import Run, rank


def write_run(path: str | Path, run: Run, name: str) -> None:
    """Writes a run that trec_eval reads; the file appears when it is whole.

    Raises InputError for an id with white space, which the format cannot have.
    """
    with (
        atomic_path(path) as partial,
        partial.open("w", encoding="utf-8") as file,
    ):
        for query, scores in run.items():
            _check(query)
            for place, document in enumerate(rank(scores), 1):
                _check(document)
                # Nine digits tell any two numbers of float32 apart.
                score = f"{np.float32(scores[document]):.9g}"
                file.write(f"{query} Q0 {document} {place} {score} {name}\n")


def _check(identifier):
    if identifier.split() != [identifier]:
        raise InputError(
            f"The id {identifier!r} is empty or has white space, which a run "
            "file cannot have; change the ids of the data set."
        )
