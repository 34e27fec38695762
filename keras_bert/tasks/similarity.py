"""Tasks about similar sentences: KorSTS, and tasks for sentence embeddings.

KorSTS (Ham et al. 2020) has pairs of Korean sentences, with a similarity from 0
to 5. embedding/stsb and embedding/korsts have the same pairs as glue/stsb (Cer
et al. 2017) and korsts, but train vectors: the cosine of two vectors is the
similarity of a pair.

embedding/nli trains on natural language inference: SNLI (Bowman et al. 2015)
and MNLI (Williams et al. 2018) as triplets of a premise, a sentence that
follows from it, and a sentence that contradicts it. The development set of
STS-B is the validation set. The data folder contains the official folder
`glue/STS-B`, and a folder `nli`. From `nli`, all files *.jsonl and *.jsonl.gz
are read. Each line has a `premise`, a `hypothesis` and a `label`.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.tasks import glue, readers
from keras_bert.tasks.base import Row, Task

# The label "-" of SNLI means that the annotators did not agree.
_LABELS = ("entailment", "neutral", "contradiction", "-")
_TRIPLET = ("sentence1", "sentence2", "negative")
_STSB = glue.TASKS["glue/stsb"]


def _read_nli(data_dir: Path, split: str) -> Iterator[Row]:
    """Yields triplets from `nli` for training, otherwise rows of STS-B."""
    folder = to_path(data_dir)
    if split != "train":
        return iter(_STSB.read(folder / "glue" / "STS-B", split))
    files = sorted(
        file
        for pattern in ("*.jsonl", "*.jsonl.gz")
        for file in (folder / "nli").glob(pattern)
    )
    if not files:
        raise FileNotFoundError(
            f"{folder / 'nli'} has no *.jsonl and no *.jsonl.gz; give the "
            "folder that contains nli and glue as data_dir."
        )
    return readers.not_empty(
        _triplets(row for file in files for row in _rows(file)),
        f"No premise in {folder / 'nli'} has both an entailment and a "
        "contradiction.",
    )


def _rows(file: Path) -> Iterator[Row]:
    for number, row in enumerate(readers.json_rows(file), 1):
        values = {x: row.get(x) for x in ("premise", "hypothesis", "label")}
        if None in values.values() or values["label"] not in _LABELS:
            raise InputError(
                f"Row {number} of {file} has {values}, but must have a "
                "premise, a hypothesis and one of the labels "
                f"{', '.join(_LABELS)}."
            )
        yield row


def _triplets(rows: Iterable[Row]) -> Iterator[Row]:
    """Yields a row for each entailment of a premise that has a contradiction.

    If a premise has fewer contradictions than entailments, its contradictions
    are used several times. All premises are in memory at once, because a
    premise may occur in several rows.
    """
    premises: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        texts = premises.setdefault(row["premise"], {})
        texts.setdefault(row["label"], {})[row["hypothesis"]] = None
    for premise, texts in premises.items():
        contradictions = list(texts.get("contradiction", ()))
        for i, entailment in enumerate(texts.get("entailment", ())):
            if contradictions:
                negative = contradictions[i % len(contradictions)]
                triplet = (premise, entailment, negative)
                yield dict(zip(_TRIPLET, triplet, strict=True))


_KORSTS = dataclasses.replace(
    _STSB,
    metrics=("spearman", "pearson"),
    read=readers.tsv(
        columns=glue.SCORED_PAIR,
        train="sts-train.tsv",
        validation="sts-dev.tsv",
        # The test set has scores, so it is evaluated too.
        validation_test="sts-test.tsv",
    ),
    validation_splits=("validation", "validation_test"),
    test_files={},
)


def _as_vectors(task: Task) -> Task:
    return dataclasses.replace(
        task,
        kind="embedding",
        metrics=("spearman", "pearson"),
        settings={"loss": "cosent"},
    )


TASKS = {
    "korsts": _KORSTS,
    "embedding/stsb": _as_vectors(_STSB),
    "embedding/korsts": _as_vectors(_KORSTS),
    "embedding/nli": Task(
        kind="embedding",
        text_fields=_TRIPLET,
        metrics=("spearman", "pearson"),
        read=_read_nli,
        test_files={},
        settings={"loss": "multiple_negatives"},
    ),
}
