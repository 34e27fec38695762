"""What people keep texts and labels in -> a list of rows, each a dict."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from keras_bert.errors import InputError
from keras_bert.kinds.fields import numbered
from keras_bert.tasks.base import Row

# Takes the number of texts of a row, and returns their names.
NameTexts = Callable[[int], Sequence[str]]


def as_rows(
    data: Any,
    labels: Any = None,
    *,
    name_texts: NameTexts,
    has_pairs: bool = True,
) -> list[Row]:
    """Returns rows of texts, which may have labels inside or beside them.

    The data are a column of texts; a tuple of such columns; a list of tuples
    of texts; columns with names, as in a DataFrame; rows with names; or a
    `tf.data.Dataset`. A column is a list, an array or what pandas and its like
    call a series. If a row cannot have two texts, a list in a column is one
    value. Raises InputError for anything else.
    """
    if hasattr(data, "as_numpy_iterator"):
        if labels is not None:
            raise InputError(
                "A tf.data.Dataset has its labels in its elements, "
                "(text, label); leave y out."
            )
        items, labels = _elements(data, 1 if has_pairs else 2)
    elif (columns := _named_columns(data)) is not None:
        values = zip(*columns.values(), strict=True)
        items = [dict(zip(columns, row, strict=True)) for row in values]
    elif has_pairs and isinstance(data, tuple) and _are_columns(data):
        texts = [_values(column) for column in data]
        _check_lengths({f"column {i}": x for i, x in enumerate(texts, 1)})
        items = list(zip(*texts, strict=True))
    else:
        items = _checked_items(data, name_texts)
    are_texts = any(isinstance(item, str) for item in items)
    rows = [_row(x, name_texts, has_pairs, are_texts) for x in items]
    if labels is None:
        return [_with_label(row) for row in rows]
    if not is_list(labels):
        raise InputError(
            f"The labels are {reprlib.repr(labels)}; give a list with a label "
            "for each row."
        )
    labels = _values(labels)
    _check_lengths({"texts": rows, "labels": labels})
    return [
        {**row, "label": _plain(x)} if isinstance(row, Mapping) else row
        for row, x in zip(rows, labels, strict=True)
    ]


def learn_labels(rows: Sequence[Row]) -> tuple[str, ...]:
    """Returns the names of all labels of rows, in sorted order.

    Numbers are sorted as numbers. Raises InputError if a label is missing, or
    if the labels are of several types or a matrix of 0 and 1.
    """
    if _is_matrix([row.get("label") for row in rows]):
        raise InputError(
            "The label of each row is a list of 0 and 1 of equal length; give "
            "a list of the names of its labels, such as [name for name, is_it "
            "in zip(names, row) if is_it]."
        )
    found: dict[Any, None] = {}
    for number, row in numbered(rows):
        found.update(dict.fromkeys(_leaves(row.get("label"), number)))
    types = {type(label) for label in found}
    if len(types) > 1:
        names = " and ".join(sorted(x.__name__ for x in types))
        raise InputError(
            f"The labels have the types {names}; give labels of one type."
        )
    return tuple(map(str, sorted(found)))


def with_label_names(rows: Sequence[Row], labels: Sequence[str]) -> list[Row]:
    """Returns rows in which a label that is an integer or a bool is its name.

    Raises InputError if it is not the text of a label.
    """

    def name(label, number):
        if isinstance(label, (list, tuple)):
            return [name(x, number) for x in label]
        if isinstance(label, int) and str(label) not in labels:
            raise InputError(
                f"Label {label!r} of example {number} is not one of the "
                f"strings {', '.join(map(repr, labels))}; if it is the number "
                "of a label, give the name: [names[i] for i in numbers]."
            )
        return str(label) if isinstance(label, int) else label

    return [
        {**row, "label": name(row["label"], number)} if "label" in row else row
        for number, row in numbered(rows)
    ]


def is_list(values: Any) -> bool:
    """Returns whether values have an order, and are not a text or a row."""
    is_one = isinstance(values, (str, bytes, Mapping, Set))
    return isinstance(values, Iterable) and not is_one


def names_of_texts(row: Row) -> list[str]:
    """Returns the names of the fields of a row that may be texts."""
    return [
        name
        for name, value in row.items()
        if name != "label" and isinstance(value, (str, list, tuple))
    ]


def _named_columns(data):
    """Returns columns by name, or None if the data are something else."""
    if getattr(data, "ndim", 2) != 2:
        return None  # a series, which has keys too
    names = data.keys() if hasattr(data, "keys") else None
    for attribute in ("column_names", "columns"):
        names = getattr(data, attribute, None) if names is None else names
    if names is None:
        return None
    columns = {name: data[name] for name in names}
    lengths = {
        len(x)
        if hasattr(x, "__len__") and not isinstance(x, (str, bytes))
        else None
        for x in columns.values()
    }
    if None in lengths or len(lengths) > 1:
        return None
    return {name: _values(column) for name, column in columns.items()}


def _values(column):
    """Returns the values of a column as a list."""
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, polars, NumPy
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def _are_columns(parts):
    return bool(parts) and not any(
        isinstance(part, (str, bytes, Mapping)) or not hasattr(part, "__len__")
        for part in parts
    )


def _checked_items(data, name_texts):
    is_texts = isinstance(data, tuple) and any(isinstance(x, str) for x in data)
    if not is_list(data):
        form = "{" + ", ".join(f"{x!r}: ..." for x in name_texts(1)) + "}"
        raise InputError(
            f"The rows are {reprlib.repr(data)}; give a list of dicts such as "
            f"{form}, or a dict of lists of equal length, or a list of texts."
        )
    items = _values(data)
    two = (
        isinstance(data, list)
        and len(data) == 2
        and all(isinstance(x, list) and len(x) == 2 for x in data)
        and all(isinstance(x[0], str) for x in data)
    )
    if is_texts or (two and len(name_texts(2)) == 2):
        raise InputError(
            f"{reprlib.repr(data)} may be pairs or columns; give a list of "
            "texts, a list of tuples (pairs), or a tuple of lists (columns)."
        )
    return items


def _row(item, name_texts, has_pairs, is_text):
    """Returns an item as a row; anything else as it is, for the kind."""
    if isinstance(item, Mapping):
        return {name: _plain(value) for name, value in item.items()}
    item = _plain(item)
    if has_pairs and isinstance(item, (list, tuple)):
        return dict(zip(name_texts(len(item)), item, strict=True))
    if is_text or isinstance(item, (list, tuple, bytes)):
        (name,) = name_texts(1)[:1]
        return {name: item}
    return item


def _with_label(row):
    """Returns a row whose labels, by the plural, are its label."""
    if isinstance(row, dict) and "labels" in row and "label" not in row:
        row = {**row, "label": row["labels"]}
        del row["labels"]
    return row


def _plain(value):
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value


def _check_lengths(columns):
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{n} {name}" for name, n in lengths.items())
        raise InputError(
            f"There are {found}; give as many labels as texts."
            if "labels" in columns
            else f"The lengths are {lengths}; give columns of equal length."
        )


def _elements(dataset, rank):
    """Returns the features and the labels, if any, of the elements."""
    import tensorflow as tf

    if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise InputError(
            "The tf.data.Dataset has no end; leave repeat() out, and give the "
            "number of epochs."
        )
    ranks = [
        spec.shape.rank
        for spec in tf.nest.flatten(dataset.element_spec)
        if spec.dtype == tf.string
    ]
    if ranks and None not in ranks and min(ranks) >= rank:
        dataset = dataset.unbatch()
    items, labels = [], []
    for element in dataset.as_numpy_iterator():
        element = _decoded(element)
        if isinstance(element, tuple):
            if len(element) != 2:
                raise InputError(
                    f"An element of the tf.data.Dataset has {len(element)} "
                    "parts; give (text, label), or ((text, text), label)."
                )
            element, label = element
            labels.append(label)
        items.append(element)
    return items, labels if labels else None


def _decoded(value):
    if isinstance(value, Mapping):
        return {name: _decoded(x) for name, x in value.items()}
    value = _plain(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_decoded, value))
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"The text {reprlib.repr(value)} is not UTF-8; decode it first."
        ) from error


def _is_matrix(labels):
    sizes = {len(x) if isinstance(x, list) else 0 for x in labels}
    return (
        len(sizes) == 1
        and min(sizes) > 1
        and all(isinstance(x, (int, float)) for row in labels for x in row)
        and all(x in (0, 1) for row in labels for x in row)
    )


def _leaves(label, number):
    """Yields the labels in a label, which may be a list."""
    if isinstance(label, (list, tuple)):
        return [x for part in label for x in _leaves(part, number)]
    if label is None or label != label:  # noqa: PLR0124 - only NaN differs
        raise InputError(
            f"The label of example {number} is {label!r}; give y or a "
            "column label, and leave out rows without a label."
        )
    if not isinstance(label, (str, int)):
        raise InputError(
            f"Label {label!r} of example {number} is a "
            f"{type(label).__name__}; give strings, integers or booleans."
        )
    return [label]
