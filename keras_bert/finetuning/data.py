"""Texts and labels in any common form -> a list of rows, each a dict."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keras_bert.errors import InputError, is_list
from keras_bert.kinds.fields import numbered
from keras_bert.tasks.base import Row


def as_rows(
    data: Any,
    labels: Any = None,
    *,
    text_fields: Sequence[str],
    has_pairs: bool = True,
    has_lists: bool = True,
) -> list[Row]:
    """Returns a dict for each row of the data, with its label if there is one.

    The data are a column of texts; a tuple of such columns; a list of tuples of
    texts; columns with names, as in a DataFrame; rows with named fields; or a
    `tf.data.Dataset`. A column is a list, an array or a series, as in pandas.
    The labels are in the data or in `labels`. Texts without names get the
    `text_fields` as names. Without `has_pairs`, a row cannot have two texts,
    and a list in a column is one value. Without `has_lists`, a label cannot be
    a list, and the labels may have the shape (N, 1).

    Raises InputError for data or labels in another form.
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
        if len(set(map(len, texts))) > 1:
            raise InputError(
                f"The columns have the lengths {[*map(len, texts)]}; give "
                "columns of equal length."
            )
        items = list(zip(*texts, strict=True))
    else:
        items = _checked_items(data, text_fields)
    are_texts = any(isinstance(item, str) for item in items)
    rows = [_row(x, text_fields, has_pairs, are_texts) for x in items]
    if labels is None:
        return rows
    if (columns := _named_columns(labels)) is not None:
        if len(columns) != 1:
            raise InputError(
                f"y has the columns {reprlib.repr([*columns])}; give one, such "
                f"as y[{next(iter(columns), 'label')!r}]."
            )
        (labels,) = columns.values()
    elif not has_lists and getattr(labels, "shape", ())[1:] == (1,):
        labels = labels[:, 0]
    are_labels = is_list(labels, (1, 2))
    if not are_labels or len(labels := _values(labels)) != len(rows):
        raise InputError(
            f"The labels of {len(rows)} rows are {reprlib.repr(labels)}; give "
            "a list with a label for each row."
        )
    return [
        {**row, "label": plain(x)} if isinstance(row, Mapping) else row
        for row, x in zip(rows, labels, strict=True)
    ]


def learn_labels(
    rows: Sequence[Row], *, are_tags: bool = False
) -> tuple[str, ...]:
    """Returns the sorted names of all labels in rows.

    Numbers are sorted as numbers. Raises InputError if a label is missing or
    empty, or if the labels have several types, differ only in spaces, or are a
    matrix of 0s and 1s. For `are_tags`, see `with_label_names`.
    """
    if not are_tags:
        _check_is_no_matrix(rows, min_size=1)
    labels: dict[Any, None] = {
        label: None
        for number, row in numbered(rows)
        for label in _leaves(row.get("label"), number)
    }
    types = {type(label).__name__ for label in labels}
    if len(types) > 1:
        raise InputError(
            f"The labels have the types {' and '.join(sorted(types))}; give "
            "labels of one type."
        )
    names = tuple(map(str, sorted(labels)))
    if len({name.strip() for name in names}) < len(names):
        raise InputError(
            f"Some of the labels {', '.join(map(repr, names))} differ only in "
            "leading or trailing spaces; strip them, or give the labels to "
            "from_pretrained if they are different labels."
        )
    return names


def with_label_names(
    rows: Sequence[Row], labels: Sequence[str], *, are_tags: bool = False
) -> list[Row]:
    """Returns rows in which integer and bool labels are strings: 1 becomes "1".

    Raises InputError if `labels` lacks such a name, or if the rows' labels are
    a matrix of 0s and 1s. With `are_tags`, each label is a list with one tag
    per word, so 0 and 1 may be the names of tags.
    """
    if not are_tags:
        # A list of one name, such as [1], is right if "1" is a label.
        _check_is_no_matrix(rows, min_size=2)

    def name(label: Any, number: int) -> Any:
        if isinstance(label, (list, tuple)):
            return [name(x, number) for x in label]
        if isinstance(label, int) and str(label) not in labels:
            raise InputError(
                f"Label {label!r} of example {number} is not one of the "
                f"strings {', '.join(map(repr, labels))}; if it is the index "
                "of a label, give the name: [names[i] for i in indices]."
            )
        return str(label) if isinstance(label, int) else label

    return [
        {**row, "label": name(row["label"], number)} if "label" in row else row
        for number, row in numbered(rows)
    ]


def _named_columns(data: Any) -> dict[Any, list] | None:
    """Returns columns by name, or None if the data have no named columns."""
    if getattr(data, "ndim", 2) != 2:
        return None  # a series, which has keys too
    names = data.keys() if hasattr(data, "keys") else None
    for attribute in ("column_names", "columns"):
        names = getattr(data, attribute, None) if names is None else names
    if names is None:
        return None
    if repeated := {name for name in names if list(names).count(name) > 1}:
        raise InputError(
            f"Several columns are named {', '.join(map(repr, repeated))}; "
            "give each a different name."
        )
    try:
        columns = {name: data[name] for name in names}
    except TypeError:  # a stream, which has only rows
        return None
    if not _are_columns(columns.values()):
        return None
    columns = {name: _values(column) for name, column in columns.items()}
    return None if len(set(map(len, columns.values()))) > 1 else columns


def _record_names(data: Any) -> tuple[str, ...] | None:
    """Returns the names of a structured NumPy array, or of one of its rows."""
    return getattr(getattr(data, "dtype", None), "names", None)


def _values(column: Any) -> list:
    """Returns the values of a column as a list."""
    if _record_names(column):
        return list(column)  # tolist would lose the names
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, polars, NumPy
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def _are_columns(parts: Iterable) -> bool:
    return all(
        hasattr(part, "__len__") and not isinstance(part, (str, bytes, Mapping))
        for part in parts
    )


def _checked_items(data: Any, text_fields: Sequence[str]) -> list:
    if not is_list(data, (1, 2)):
        raise InputError(
            f"The rows are {reprlib.repr(data)}; give a list of dicts such as "
            f"{{{text_fields[0]!r}: ...}}, or a dict of lists of equal length, "
            "or a list of texts."
        )
    items = _values(data)
    is_texts = isinstance(data, tuple) and any(isinstance(x, str) for x in data)
    is_two_lists_of_two = (
        isinstance(data, list)
        and len(data) == 2
        and all(isinstance(x, list) and len(x) == 2 for x in data)
        and all(isinstance(x[0], str) for x in data)
    )
    if is_texts or (is_two_lists_of_two and len(text_fields) > 1):
        raise InputError(
            f"{reprlib.repr(data)} may be pairs or columns; give a list of "
            "texts, a list of tuples (pairs), or a tuple of lists (columns)."
        )
    return items


def _row(
    item: Any, text_fields: Sequence[str], has_pairs: bool, is_text: bool
) -> Any:
    """Returns an item as a dict, or unchanged if the kind will refuse it."""
    item = plain(item)
    if isinstance(item, Mapping):
        return item
    if has_pairs and isinstance(item, (list, tuple)):
        if len(item) > len(text_fields):
            raise InputError(
                f"A row has {len(item)} texts, but the model reads "
                f"{', '.join(text_fields)}; give from_pretrained the "
                "text_fields, one name for each text."
            )
        return dict(zip(text_fields, item, strict=False))
    is_text = is_text or isinstance(item, (list, tuple, bytes))
    return {text_fields[0]: item} if is_text else item


def plain(value: Any) -> Any:
    """Returns a value, with arrays and NumPy numbers as Python values.

    The names of fields become strings.
    """
    if names := _record_names(value):
        value = {name: value[name] for name in names}
    value = value.tolist() if hasattr(value, "tolist") else value
    if hasattr(value, "_asdict"):  # a row of DataFrame.itertuples()
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain(x) for name, x in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def _elements(dataset: Any, rank: int) -> tuple[list, list | None]:
    """Returns the features of a dataset's elements, and their labels or None.

    A dataset is treated as batched if the rank of its strings is at least
    `rank`.
    """
    import tensorflow as tf

    if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise InputError(
            "The tf.data.Dataset has no end; leave repeat() out, and give the "
            "number of epochs."
        )
    specs = tf.nest.flatten(dataset.element_spec)
    ranks = [x.shape.rank for x in specs if x.dtype == tf.string]
    # A label without axes belongs to one row; a vector of strings beside it is
    # then the texts of this row.
    has_batches = all(x.shape.rank != 0 for x in specs)
    if has_batches and ranks and None not in ranks and min(ranks) >= rank:
        dataset = dataset.unbatch()
    elements = [
        tf.nest.map_structure(_decoded, plain(element))
        for element in dataset.as_numpy_iterator()
    ]
    if not any(isinstance(element, tuple) for element in elements):
        return elements, None
    if len(elements[0]) != 2:
        raise InputError(
            f"An element of the tf.data.Dataset has {len(elements[0])} parts; "
            "give (text, label), or ((text, text), label)."
        )
    return [x for x, _ in elements], [label for _, label in elements]


def _decoded(value: Any) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise InputError(
            f"The text {reprlib.repr(value)} is not UTF-8; decode it first."
        ) from error


def _check_is_no_matrix(rows: Sequence[Row], *, min_size: int) -> None:
    """Raises InputError if all labels are lists of 0s and 1s of equal length.

    Lists that are shorter than `min_size` are allowed. Lists of one number are
    a matrix only if both 0 and 1 occur.
    """
    labels: list[Any] = [row.get("label") for _, row in numbered(rows)]
    sizes = {len(x) if isinstance(x, (list, tuple)) else 0 for x in labels}
    if len(sizes) != 1 or min(sizes) < min_size:
        return
    values = [x for row in labels for x in row]
    if all(isinstance(x, (int, float)) and x in (0, 1) for x in values) and (
        min(sizes) > 1 or set(values) == {0, 1}
    ):
        raise InputError(
            "The labels of the rows form a matrix of 0s and 1s; give each row "
            "the name of its label or, if it has several, a list of names, "
            "such as [name for name, is_it in zip(names, row) if is_it]."
        )


def _leaves(label: Any, number: int) -> list[str | int]:
    """Returns the single labels in a label, which may be a nested list."""
    if isinstance(label, (list, tuple)):
        return [x for part in label for x in _leaves(part, number)]
    if not isinstance(label, (str, int)):  # such as None or NaN
        raise InputError(
            f"The label of example {number} is {label!r}; give y, or a column "
            "'label', with a string, an integer or a boolean for each row."
        )
    if isinstance(label, str) and not label.strip():
        raise InputError(
            f"Example {number} has the empty label {label!r}; correct it, or "
            "leave it out. padded_batch adds empty labels to lists; use "
            "ragged_batch instead."
        )
    return [label]
