"""Data files -> rows. A reader is made with the names of the files.

Each function here returns the `read` of a `Task`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path


def tsv(
    *,
    train: str,
    validation: str,
    test: str | None = None,
    columns: Mapping[str, int | str],
    header: bool = True,
    test_columns: Mapping[str, int | str] | None = None,
    test_header: bool = True,
) -> Callable[[Path, str], list[dict[str, str]]]:
    """Reads tab-separated files without quoting, as GLUE's are.

    `columns` maps a field to its column: its number from 0, or its name in
    the header. Test sets often have other columns: `test_columns`.
    """
    files = {"train": train, "validation": validation, "test": test}

    def read(data_dir, split):
        path = _existing(data_dir, files, split)
        is_test = split == "test"
        wanted = test_columns if is_test and test_columns else columns
        has_header = test_header if is_test else header
        lines = [line.split("\t") for line in _lines(path)]
        names = lines.pop(0) if has_header and lines else []
        places = {
            field: _place(column, names, path)
            for field, column in wanted.items()
            if field != "label" or not is_test
        }
        rows = []
        for number, line in enumerate(lines, 1 + has_header):
            if len(line) <= max(places.values()):
                raise ValueError(
                    f"Line {number} of {path} has {len(line)} columns, but "
                    f"at least {max(places.values()) + 1} are needed; check "
                    "its tabs."
                )
            rows.append({field: line[i] for field, i in places.items()})
        return _not_empty(rows, path)

    return read


def jsonl(
    *, train: str, validation: str, test: str | None = None
) -> Callable[[Path, str], list[dict[str, str]]]:
    """Reads one JSON object a line; values that are no strings become JSON."""
    files = {"train": train, "validation": validation, "test": test}

    def read(data_dir, split):
        path = _existing(data_dir, files, split)
        rows = []
        for number, line in enumerate(_lines(path), 1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise ValueError(
                    f"Line {number} of {path} is not a JSON object."
                )
            rows.append(
                {
                    key: value if isinstance(value, str) else json.dumps(value)
                    for key, value in row.items()
                }
            )
        return _not_empty(rows, path)

    return read


def _existing(data_dir, files, split):
    if not files[split]:
        raise FileNotFoundError(f"This task has no {split} file.")
    path = Path(data_dir) / files[split]
    if not path.is_file():
        raise FileNotFoundError(
            f"No {split} file at {path}; is data_dir the folder of the task?"
        )
    return path


def _lines(path):
    try:
        # MRPC begins with a byte-order mark.
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}.") from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _place(column, names, path):
    if isinstance(column, int):
        return column
    if column not in names:
        raise ValueError(
            f"{path} has no column {column!r}; its header is {names}."
        )
    return names.index(column)


def _not_empty(rows, path):
    if not rows:
        raise ValueError(f"{path} holds no example.")
    return rows
