"""What has to be known of a data set to fine-tune on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from keras_bert.tasks.metrics import METRICS

Row = Mapping[str, str]
HEADS = ("classification", "regression")


@dataclasses.dataclass(frozen=True)
class Task:
    """A data set and the question it asks.

    Attributes:
        head: "classification" chooses one of `labels`; "regression" answers
            with a number.
        text_fields: The fields of a row that the model reads: one text, or
            two of a pair.
        metrics: Names of `tasks.metrics.METRICS`, the most important first.
        read: Called with the data folder and "train", "validation" or
            "test"; returns rows, each a dict of strings with the text fields
            and "label" (not in a test set). Raises FileNotFoundError where
            there is no such file.
        labels: Their names, in the order of their ids.
        examples: Some rows, to test the task on.
    """

    head: str
    text_fields: tuple[str, ...]
    metrics: tuple[str, ...]
    read: Callable[[Path, str], list[Row]]
    labels: tuple[str, ...] = ()
    examples: tuple[Row, ...] = ()

    def __post_init__(self):
        if self.head not in HEADS:
            raise ValueError(
                f"head {self.head!r} is not one of {', '.join(HEADS)}."
            )
        if len(self.text_fields) not in (1, 2):
            raise ValueError(
                f"text_fields {self.text_fields} must be one field, or two "
                "for a pair."
            )
        if (self.head == "classification") != (len(self.labels) > 1):
            raise ValueError(
                f"labels {self.labels} do not fit head {self.head!r}: "
                "classification has at least two, regression none."
            )
        if unknown := [m for m in self.metrics if m not in METRICS]:
            raise ValueError(
                f"metrics {unknown} are not among {', '.join(METRICS)}."
            )
