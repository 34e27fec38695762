"""Sentence embeddings, trained on natural language inference.

SNLI (Bowman et al. 2015) and MNLI (Williams et al. 2018) as triplets: a
premise, a sentence that follows from it, and one that contradicts it. They are
validated on the development set of STS-B.

The data folder has the folders `nli`, of which all files *.jsonl and *.jsonl.gz
are read, with `premise`, `hypothesis` and `label` on each line; and
`glue/STS-B`, the official one.
"""

from collections.abc import Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.tasks import glue, readers
from keras_bert.tasks.base import Row, Task

# Annotators of SNLI did not agree on the label "-".
_LABELS = ("entailment", "neutral", "contradiction", "-")


def read(data_dir: Path, split: str) -> Iterator[Row]:
    """Yields the triplets, or the rows of STS-B if the split has a label."""
    folder = to_path(data_dir)
    if split != "train":
        return glue.TASKS["glue/stsb"].read(folder / "glue" / "STS-B", split)
    files = sorted(
        file
        for pattern in ("*.jsonl", "*.jsonl.gz")
        for file in (folder / "nli").glob(pattern)
    )
    if not files:
        raise FileNotFoundError(
            f"{folder / 'nli'} has no *.jsonl and no *.jsonl.gz; is data_dir "
            "the folder above nli and glue?"
        )
    return readers.not_empty(
        _triplets(row for file in files for row in _rows(file)),
        f"No premise in {folder / 'nli'} has both an entailment and a "
        "contradiction.",
    )


def _rows(file):
    for number, row in enumerate(readers.json_rows(file), 1):
        wrong = [
            name for name in ("premise", "hypothesis") if name not in row
        ] or (["label"] if row.get("label") not in _LABELS else [])
        if wrong:
            raise InputError(
                f"Line {number} of {file} has the {wrong[0]} "
                f"{row.get(wrong[0])!r}; expected are a premise, a hypothesis "
                f"and one of the labels {', '.join(_LABELS)}."
            )
        yield row


def _triplets(rows):
    """Yields a row for each entailment of a premise with a contradiction.

    If a premise has fewer contradictions, they are used again. All premises
    are in memory at once: one may occur in several places.
    """
    premises: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        texts = premises.setdefault(row["premise"], {})
        texts.setdefault(row["label"], {})[row["hypothesis"]] = None
    for premise, texts in premises.items():
        contradictions = list(texts.get("contradiction", ()))
        for i, entailment in enumerate(texts.get("entailment", ())):
            if contradictions:
                yield {
                    "sentence1": premise,
                    "sentence2": entailment,
                    "negative": contradictions[i % len(contradictions)],
                }


TASKS = {
    "embedding/nli": Task(
        kind="embedding",
        text_fields=("sentence1", "sentence2", "negative"),
        metrics=("spearman", "pearson"),
        read=read,
        test_files={},
        settings={"loss": "multiple_negatives"},
        examples=(
            {
                "sentence1": "The brown fox jumped over the dog.",
                "sentence2": "The fox was jumping.",
                "negative": "The fox was lazy.",
            },
            {
                "sentence1": "The film was very good.",
                "sentence2": "The movie is not bad.",
                "negative": "The film was bad.",
            },
        ),
    ),
}
