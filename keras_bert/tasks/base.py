"""What has to be known of a data set to fine-tune on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.kinds.metrics import METRICS

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Task:
    """A data set and the question it asks.

    Attributes:
        head: What is asked for. "classification": one of `labels`;
            "regression": a number; "multiple_choice": one of several endings;
            "token_classification": one of `labels` for each word; "span": a
            part of a text that answers a question.
        text_fields: The fields of a row that the model reads. One text, or
            two of a pair; for multiple choice a text and a list of endings,
            for token classification a list of words, for a span the question
            and the text.
        metrics: Names of `tasks.metrics.METRICS[head]`, the most important
            first.
        read: Called with the data folder and a split; returns rows, each a
            dict with the text fields and "label", which a test set lacks: a
            name of `labels`; a number; the number of the right ending, as a
            string; a list of names; a list of answers, each a dict with
            "text" and "answer_start", in characters, or an empty list where
            the text has no answer. Raises FileNotFoundError where there is
            no such file.
        labels: Their names, in the order of their ids.
        validation_splits: Are evaluated on; the first chooses the best
            checkpoint.
        test_files: A split without labels -> the name of the file that its
            predictions are handed in as.
        max_seq_length: Used where the config does not set another.
        value_range: The smallest and the largest number of a regression.
        tfds_name: Its name in tensorflow-datasets, such as "glue/mnli", where
            it is there with the same text fields, `label` and splits.
        answers_may_be_missing: Whether a span task has questions without an
            answer.
        examples: Some rows, to test the task on.
    """

    head: str
    text_fields: tuple[str, ...]
    metrics: tuple[str, ...]
    read: Callable[[Path, str], list[Row]]
    labels: tuple[str, ...] = ()
    validation_splits: tuple[str, ...] = ("validation",)
    test_files: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {"test": "test_predictions.tsv"}
    )
    max_seq_length: int = 128
    value_range: tuple[float, float] = (-math.inf, math.inf)
    tfds_name: str = ""
    answers_may_be_missing: bool = False
    examples: tuple[Row, ...] = ()

    def __post_init__(self):
        if self.head not in METRICS:
            raise InputError(
                f"head {self.head!r} is not one of {', '.join(METRICS)}."
            )
        counts = _NUM_TEXT_FIELDS[self.head]
        if len(self.text_fields) not in counts:
            raise InputError(
                f"text_fields {self.text_fields} must be "
                f"{' or '.join(map(str, counts))} fields for a "
                f"{self.head} task."
            )
        if (self.head in _HEADS_WITH_LABELS) != (len(self.labels) > 1):
            raise InputError(
                f"labels {self.labels} do not fit head {self.head!r}: "
                f"{' and '.join(_HEADS_WITH_LABELS)} have at least two, "
                "others none."
            )
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"labels {self.labels} have one of them twice.")
        if not self.metrics:
            raise InputError("There are no metrics; give at least one.")
        known = METRICS[self.head]
        if unknown := [m for m in self.metrics if m not in known]:
            raise InputError(
                f"metrics {unknown} of a {self.head} task are not among "
                f"{', '.join(known)}."
            )
        if (
            self.head == "classification"
            and "f1" in self.metrics
            and len(self.labels) > 2
        ):
            raise InputError(
                f"f1 is of the second of two labels, not of {self.labels}; "
                "choose accuracy or matthews."
            )
        stems = [Path(file).stem for file in self.test_files.values()]
        if len({"predictions", *stems}) <= len(stems):
            raise InputError(
                f"test_files {list(self.test_files.values())} must differ "
                "from each other, and from predictions, but for the ending."
            )


_HEADS_WITH_LABELS = ("classification", "token_classification")
_NUM_TEXT_FIELDS = {
    "classification": (1, 2),
    "regression": (1, 2),
    "multiple_choice": (2,),
    "token_classification": (1,),
    "span": (2,),
}
