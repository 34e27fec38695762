"""GLUE (Wang et al. 2018), from the official folders.

The files of predictions have the names that the GLUE server expects in its zip
file.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_bert.io.paths import to_path
from keras_bert.tasks import readers
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.readers import Columns


def _task(
    file_name: str,
    columns: Columns,
    *,
    reading: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Task:
    """Returns a task with the files train.tsv, dev.tsv and test.tsv."""
    fields = {"kind": "classification", "metrics": ("accuracy",)} | fields
    return Task(
        text_fields=tuple(field for field in columns if field != "label"),
        read=readers.tsv(
            columns=columns,
            train="train.tsv",
            validation="dev.tsv",
            test="test.tsv",
            **(reading or {}),
        ),
        test_files={"test": file_name},
        **fields,
    )


def _same(*names: str) -> dict[str, int | str]:
    """Returns columns that have the same names as their fields."""
    return {name: name for name in names}


def _read_mnli(data_dir: Path, split: str) -> Iterator[Row]:
    folder = to_path(data_dir)
    if split == "diagnostic" and not (folder / "diagnostic.tsv").is_file():
        # Older download scripts make a separate folder for this file.
        folder = folder.parent / "diagnostic"
    return _MNLI_FILES(folder, split)


_NO_YES = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_SENTENCE_PAIR = _same("sentence1", "sentence2", "label")
SCORED_PAIR = _SENTENCE_PAIR | {"label": "score"}
_MNLI_COLUMNS = {
    "premise": "sentence1",
    "hypothesis": "sentence2",
    "label": "gold_label",
}
_MNLI_FILES = readers.tsv(
    columns=_MNLI_COLUMNS,
    train="train.tsv",
    validation_matched="dev_matched.tsv",
    validation_mismatched="dev_mismatched.tsv",
    test_matched="test_matched.tsv",
    test_mismatched="test_mismatched.tsv",
    diagnostic="diagnostic.tsv",
)
_MNLI = Task(
    kind="classification",
    text_fields=("premise", "hypothesis"),
    labels=("contradiction", "entailment", "neutral"),
    metrics=("accuracy",),
    read=_read_mnli,
    validation_splits=("validation_matched", "validation_mismatched"),
    test_files={
        "test_matched": "MNLI-m.tsv",
        "test_mismatched": "MNLI-mm.tsv",
        "diagnostic": "AX.tsv",
    },
)
TASKS = {
    "glue/cola": _task(
        "CoLA.tsv",
        {"sentence": 3, "label": 1},
        labels=_NO_YES,
        metrics=("matthews", "accuracy"),
        reading={"header": False, "test_columns": _same("sentence")},
    ),
    "glue/sst2": _task("SST-2.tsv", _same("sentence", "label"), labels=_NO_YES),
    "glue/mrpc": _task(
        "MRPC.tsv",
        dict(sentence1="#1 String", sentence2="#2 String", label="Quality"),
        labels=_NO_YES,
        metrics=("f1", "accuracy"),
    ),
    "glue/qqp": _task(
        "QQP.tsv",
        _same("question1", "question2") | {"label": "is_duplicate"},
        labels=_NO_YES,
        metrics=("f1", "accuracy"),
        # A line break inside of a question splits some lines of the official
        # train.tsv and dev.tsv.
        reading={"leave_out_broken": True},
    ),
    "glue/stsb": _task(
        "STS-B.tsv",
        SCORED_PAIR,
        kind="regression",
        metrics=("pearson", "spearman"),
        settings={"min_value": 0.0, "max_value": 5.0},
    ),
    "glue/mnli": _MNLI,
    # The diagnostic set evaluates models of glue/mnli; it has no train split.
    "glue/ax": dataclasses.replace(
        _MNLI,
        metrics=("matthews", "accuracy"),
        # Predictions are submitted for diagnostic.tsv, which has no labels.
        read=readers.tsv(
            columns={x: x.title() for x in _MNLI_COLUMNS},
            test_columns=_MNLI_COLUMNS,
            validation="diagnostic-full.tsv",
            test="diagnostic.tsv",
        ),
        validation_splits=("validation",),
        test_files={"test": "AX.tsv"},
    ),
    "glue/qnli": _task(
        "QNLI.tsv", _same("question", "sentence", "label"), labels=_ENTAILMENT
    ),
    "glue/rte": _task("RTE.tsv", _SENTENCE_PAIR, labels=_ENTAILMENT),
    "glue/wnli": _task("WNLI.tsv", _SENTENCE_PAIR, labels=_NO_YES),
}
