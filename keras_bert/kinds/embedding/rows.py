"""The forms of rows: how many texts they have, and whether a number."""

from __future__ import annotations

from collections.abc import Sequence
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
        return (
            f"{len(self.fields)} text{'s' * (len(self.fields) > 1)} "
            f"({', '.join(self.fields)}) and "
            f"{'a' if self.has_label else 'no'} label"
        )


class Needs(NamedTuple):
    """The forms that a loss or a metric takes."""

    min_texts: int
    max_texts: int | None
    has_label: bool

    def __str__(self):
        number = ("one", "two", "three")[self.min_texts - 1]
        more = "" if self.max_texts else " or more"
        label = "a number as the label" if self.has_label else "no label"
        return f"{number}{more} texts and {label}"

    def fit(self, form: Form) -> bool:
        """Returns whether rows have one of these forms."""
        num_texts = len(form.fields)
        return self.has_label == form.has_label and (
            self.min_texts <= num_texts <= (self.max_texts or num_texts)
        )

    def check(self, form: Form, name: str) -> None:
        """Raises InputError, which names the loss or metric, if not."""
        if not self.fit(form):
            raise InputError(
                f"The {name} needs rows with {self}, but the rows have {form}; "
                "check the task and its reader."
            )


PAIRS = Needs(2, None, False)
SCORED_PAIRS = Needs(2, 2, True)
TRIPLETS = Needs(3, None, False)
NEEDS_OF_LOSS = {
    "multiple_negatives": PAIRS,
    "cosent": SCORED_PAIRS,
    "triplet": TRIPLETS,
}
NEEDS_OF_METRIC = {
    "spearman": SCORED_PAIRS,
    "pearson": SCORED_PAIRS,
    "triplet_accuracy": TRIPLETS,
}


def form_of(row: Row, text_fields: Sequence[str], number: int) -> Form:
    """Returns the form of a row.

    Raises InputError, which names the row, if it has none of the text fields,
    or lacks one of them before another.
    """
    present = tuple(field for field in text_fields if field in row)
    if not present or present != tuple(text_fields[: len(present)]):
        missing = next(field for field in text_fields if field not in row)
        raise InputError(
            f"Example {number} has no field {missing!r}, only "
            f"{', '.join(row)}; a row has the first of the text_fields "
            f"{', '.join(text_fields)}."
        )
    return Form(present, "label" in row)


def check_rows(
    rows: Sequence[Row], text_fields: Sequence[str], *, labeled: bool
) -> Form:
    """Returns the form of rows, which may not be empty.

    If they are not `labeled`, any labels are ignored. Raises InputError if a
    text is wrong or the rows differ in their form.
    """
    first: Form | None = None
    first_number = 0
    for number, row in numbered(rows):
        form = form_of(row, text_fields, number)
        if not labeled:
            form = form._replace(has_label=False)
        if first is None:
            first, first_number = form, number
        if form != first:
            raise InputError(
                f"Example {number} has {form}, but example {first_number} has "
                f"{first}; all rows of a data set must have the same."
            )
        for field in form.fields:
            check_text(row[field], f"The {field} of example {number}")
    assert first is not None, "no rows"
    return first
