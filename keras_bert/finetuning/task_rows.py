"""A task and texts in any common form -> the completed task and its rows."""

import dataclasses
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from keras_bert.errors import InputError
from keras_bert.finetuning.data import as_rows, learn_labels, with_label_names
from keras_bert.kinds.fields import check_text_fields, numbered
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.registry import get_kind
from keras_bert.tasks.base import Row


@dataclasses.dataclass(frozen=True)
class TaskRows:
    """Reads rows for a task, and completes the task from them.

    Attributes:
        spec: The task. Its labels may be derived from the rows.
        usual_fields: The field names for texts without names, until the rows or
            the user name the text fields; then None.
    """

    spec: TaskSpec
    usual_fields: tuple[str, ...] | None = None

    def read(self, x: Any, y: Any = None) -> list[Row]:
        """Returns the texts and labels as rows, with unchecked labels."""
        return as_rows(
            x,
            y,
            text_fields=self.spec.text_fields,
            has_pairs=max(self._kind.num_text_fields) > 1,
            has_lists=self._kind.label_is_list,
        )

    def read_labeled(self, x: Any, y: Any = None) -> list[Row]:
        """Returns rows whose labels are names, if the kind has named labels.

        Raises InputError if a label is not one of the task's labels.
        """
        return self._with_names(self.read(x, y))

    def read_held_out(self, data: Any) -> list[Row]:
        """Returns the labeled rows of `(x, y)`, or of rows with labels."""
        if data is None:
            return []
        parts = data if isinstance(data, tuple) else (data,)
        rows = self.read_labeled(*parts) if len(parts) < 3 else []
        if not rows:
            raise InputError(
                f"validation_data is {reprlib.repr(data)}; give (x, y) or "
                "rows that contain their labels, or leave out validation_data."
            )
        if self._kind.has_labels and any("label" not in row for row in rows):
            raise InputError(
                "A row of validation_data has no label; give (x, y), or rows "
                "that contain their labels."
            )
        return rows

    def learn(self, x: Any, y: Any = None) -> tuple["TaskRows", list[Row]]:
        """Returns the task, completed from the rows, and the labeled rows."""
        spec = self.spec
        fields = self.usual_fields or spec.text_fields
        with_fields = dataclasses.replace(spec, text_fields=fields)
        rows = TaskRows(with_fields).read(x, y)
        if not rows:
            raise InputError(
                "There are no rows to train on; give texts and their labels."
            )
        if self.usual_fields is not None and isinstance(rows[0], Mapping):
            fields = self._find_fields(rows, self.usual_fields)
            spec = dataclasses.replace(spec, text_fields=fields)
        check_text_fields(spec.text_fields)
        for field in spec.text_fields:
            if _is_label(rows, field):
                raise InputError(
                    f"The text field {field!r} is the label of every row, so "
                    "the model would read its answer; give other text_fields."
                )
        if self._kind.has_labels and not spec.labels:
            labels = learn_labels(rows, are_tags=self._kind.tags_words)
            spec = dataclasses.replace(spec, labels=labels)
        _warn_of_numbers(rows, spec.text_fields)
        learned = TaskRows(spec)
        return learned, learned._with_names(rows)

    @property
    def _kind(self) -> type[Kind]:
        return get_kind(self.spec.kind)

    def _with_names(self, rows: list[Row]) -> list[Row]:
        if not self._kind.has_labels:
            return rows
        are_tags = self._kind.tags_words
        return with_label_names(rows, self.spec.labels, are_tags=are_tags)

    def _find_fields(
        self, rows: Sequence[Row], usual: tuple[str, ...]
    ) -> tuple[str, ...]:
        numbers = self._kind.num_text_fields
        # A text field that the first row lacks counts too.
        names = {
            name: None
            for _, row in numbered(rows)
            for name, value in row.items()
            if name != "label" and isinstance(value, (str, list, tuple))
        }
        fields = tuple(x for x in names if not _is_label(rows, x))
        if set(fields) == set(usual[: len(fields)]):
            return usual[: max(len(fields), numbers[0])]
        if len(numbers) == 1 and set(usual) <= set(fields):
            return usual  # the kind takes no other number
        if numbers[0] == len(fields) == 1:
            return fields
        if self._kind.has_labels and "label" not in rows[0]:
            raise InputError(
                f"The rows have the fields {', '.join(fields)}, but none is "
                "named label; give the labels as y, or rename their column."
            )
        raise InputError(
            f"The rows have the text fields {', '.join(fields)}; say which of "
            "these fields the model reads, in order: from_pretrained(..., "
            f"text_fields={fields[: numbers[-1]]!r})."
        )


def _warn_of_numbers(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Warns of fields with floats if the first row has no label."""
    ((_, row),) = numbered(rows[:1])
    ignored = [
        repr(name)
        for name, value in row.items()
        if name not in fields and isinstance(value, float) and value == value
    ]
    if ignored and "label" not in row:
        logging.warning(
            f"The rows have no label, so their numbers in {', '.join(ignored)} "
            "are ignored; if one of these fields is the label, rename it to "
            "'label'."
        )


def _is_label(rows: Sequence[Row], field: str) -> bool:
    """Returns whether a field equals the label in each of two or more rows."""
    pairs = [
        (row.get(field), row.get("label"))
        for row in rows
        if isinstance(row, Mapping)
    ]
    return len(pairs) > 1 and all(x == y is not None for x, y in pairs)
