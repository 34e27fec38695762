"""The forms of rows: how many texts they have, and whether a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from keras_bert.errors import InputError
from keras_bert.kinds.fields import check_text, numbered
from keras_bert.tasks.base import Row


class Form(NamedTuple):
    """What all rows of a data set have in common.

    Attributes:
        fields: The text fields of the rows, the first ones of the task.
        has_label: Whether the rows have a label, a number.
    """

    fields: tuple[str, ...]
    has_label: bool

    def __str__(self):
        label = "a label" if self.has_label else "no label"
        return f"the texts {', '.join(self.fields)} and {label}"


class Needs(NamedTuple):
    """The forms that a loss or a metric takes: in words, and as a test."""

    words: str
    fit: Callable[[Form], bool]

    def check(self, form: Form, name: str) -> None:
        """Raises InputError, which names the loss or metric, if not."""
        if not self.fit(form):
            raise InputError(
                f"The {name} needs rows with {self.words}, but the rows have "
                f"{form}; check the task and its reader."
            )


PAIRS = Needs(
    "two or more texts and no label",
    lambda form: len(form.fields) > 1 and not form.has_label,
)
SCORED_PAIRS = Needs(
    "two texts and a number as the label",
    lambda form: len(form.fields) == 2 and form.has_label,
)
TRIPLETS = Needs(
    "three or more texts and no label",
    lambda form: len(form.fields) > 2 and not form.has_label,
)
VECTORS = Needs(
    "one text and a vector as the label",
    lambda form: len(form.fields) == 1 and form.has_label,
)
# By loss or metric.
NEEDS = {
    "multiple_negatives": PAIRS,
    "cosent": SCORED_PAIRS,
    "triplet": TRIPLETS,
    "vector": VECTORS,
    "spearman": SCORED_PAIRS,
    "pearson": SCORED_PAIRS,
    "triplet_accuracy": TRIPLETS,
    "cosine": VECTORS,
}


def check_rows(
    rows: Sequence[Row], text_fields: tuple[str, ...], *, labeled: bool
) -> Form:
    """Returns the form of rows, which may not be empty.

    If they are not `labeled`, any labels are ignored. Raises InputError if a
    text is wrong, if a row lacks a text field before another one, or if the
    rows differ in their form.
    """
    first: tuple[int, Form] | None = None
    for number, row in numbered(rows):
        fields = tuple(field for field in text_fields if field in row)
        if not fields or fields != text_fields[: len(fields)]:
            missing = next(field for field in text_fields if field not in row)
            raise InputError(
                f"Example {number} has no field {missing!r}, only "
                f"{', '.join(row)}; a row has the first of the text_fields "
                f"{', '.join(text_fields)}."
            )
        form = Form(fields, labeled and "label" in row)
        first = first or (number, form)
        if form != first[1]:
            raise InputError(
                f"Example {number} has {form}, but example {first[0]} has "
                f"{first[1]}; all rows of a data set must have the same."
            )
        for field in fields:
            check_text(row[field], f"The {field} of example {number}")
    assert first is not None, "no rows"
    return first[1]
