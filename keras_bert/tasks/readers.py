"""Readers of data files: functions that return the `read` of a `Task`.

`files` are the names of the splits' files: train="train.tsv",
validation="dev.tsv", test="test.tsv". Only splits whose names begin with train
or validation have labels.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from csv import Error as CsvError
from csv import reader as csv_reader
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.errors import InputError
from keras_bert.storage.paths import to_path

Reader = Callable[[Path, str], list[dict[str, Any]]]
Columns = Mapping[str, int | str]


def tsv(
    *,
    columns: Columns,
    header: bool = True,
    test_columns: Columns | None = None,
    test_header: bool = True,
    leave_out_broken: bool = False,
    **files: str,
) -> Reader:
    """Reads tab-separated files without quotes, such as those of GLUE.

    `columns` maps a field to its column: its number from 0, or its name in
    the header. Splits without labels have the columns `test_columns`, if
    given. A line with a wrong number of columns raises InputError. With
    `leave_out_broken`, such lines of splits with labels are skipped, and the
    log counts them; a split without labels must keep its number of rows.
    """

    def read(data_dir, split):
        path = existing_file(data_dir, files, split)
        labeled = _has_labels(split)
        table = enumerate((line.split("\t") for line in _lines(path)), 1)
        return _table_rows(
            table,
            path,
            columns=columns if labeled else test_columns or columns,
            header=header if labeled else test_header,
            labeled=labeled,
            leave_out_broken=leave_out_broken and labeled,
        )

    return read


def csv(*, columns: Columns, **files: str) -> Reader:
    """Reads comma-separated files with quotes and a header.

    `columns` maps a field to its column, as in `tsv`.
    """

    def read(data_dir, split):
        path = existing_file(data_dir, files, split)
        return _table_rows(
            _csv_table(path), path, columns=columns, labeled=_has_labels(split)
        )

    return read


def jsonl(**files: str) -> Reader:
    """Reads files with a JSON object on each line.

    Strings and lists are kept. Other values become strings of JSON: 2 becomes
    "2", and true becomes "true". A field that is null is left out.
    """

    def read(data_dir, split):
        path = existing_file(data_dir, files, split)
        rows = []
        for number, line in enumerate(_lines(path), 1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise InputError(
                    f"Line {number} of {path} is not a JSON object."
                )
            rows.append(
                {
                    key: value
                    if isinstance(value, (str, list))
                    else json.dumps(value)
                    for key, value in row.items()
                    if value is not None
                }
            )
        return _not_empty(rows, path)

    return read


def _has_labels(split):
    return split.startswith(("train", "validation"))


def existing_file(
    data_dir: str | Path, files: Mapping[str, str | None], split: str
) -> Path:
    """Returns the file of a split; raises FileNotFoundError if it is absent."""
    name = files.get(split)
    if not name:
        raise FileNotFoundError(f"This task has no {split} file.")
    path = to_path(data_dir) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"No {split} file at {path}; is data_dir the folder of the task?"
        )
    return path


def _text(path):
    try:
        # The files of MRPC begin with a byte-order mark.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error}.") from error


def _lines(path):
    # splitlines would also split at characters such as U+2028.
    lines = [line.removesuffix("\r") for line in _text(path).split("\n")]
    return lines if lines[-1] else lines[:-1]


def _csv_table(path):
    """Yields line numbers and columns, which may contain line breaks."""
    reader = csv_reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        for line in reader:
            if line:
                yield reader.line_num, line
    except CsvError as error:
        raise InputError(
            f"Line {reader.line_num} of {path} is not CSV: {error}; check its "
            "quotes."
        ) from error


def _table_rows(
    table: Iterable[tuple[int, list[str]]],
    path: Path,
    *,
    columns: Columns,
    labeled: bool,
    header: bool = True,
    leave_out_broken: bool = False,
):
    """Returns the rows of numbered lines, which are split into columns."""
    table = list(table)
    names = table.pop(0)[1] if header and table else []
    places = {
        field: _place(column, names, path)
        for field, column in columns.items()
        if field != "label" or labeled
    }
    num_columns = len(names or table[0][1]) if table else 0
    rows, broken = [], []
    for number, line in table:
        if len(line) == num_columns > max(places.values()):
            rows.append({field: line[i] for field, i in places.items()})
        elif leave_out_broken:
            broken.append(number)
        else:
            expected = max(num_columns, max(places.values()) + 1)
            raise InputError(
                f"Line {number} of {path} has {len(line)} columns, but "
                f"{expected} are expected; check its separators."
            )
    if broken:
        logging.warning(
            "%d lines of %s do not have %d columns, so they are skipped; the "
            "first is line %d.",
            len(broken),
            path,
            num_columns,
            broken[0],
        )
    return _not_empty(rows, path)


def _place(column, names, path):
    if isinstance(column, int):
        return column
    if column not in names:
        raise InputError(
            f"{path} has no column {column!r}; its header is {names}."
        )
    return names.index(column)


def _not_empty(rows, path):
    if not rows:
        raise InputError(f"{path} contains no example.")
    return rows
