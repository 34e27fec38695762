"""Readers of data files: functions that return the `read` of a `Task`.

The readers yield one row after the other, so a file may be larger than the
memory. Text files are UTF-8 and may be compressed with gzip. The keyword
arguments `files` map each split to the name of its file, such as
train="train.tsv", validation="dev.tsv", test="test.tsv". Only splits whose
names begin with "train" or "validation" have labels.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.errors import InputError, import_extra
from keras_bert.io import csv_files
from keras_bert.io.input_files import check_line_ends, open_text
from keras_bert.io.paths import to_path
from keras_bert.tasks.base import Row

Reader = Callable[[Path, str], Iterator[Row]]
Columns = Mapping[str, int | str]
# Pairs of a line number and the columns of the line.
Table = Iterator[tuple[int, list[str]]]


def tsv(
    *,
    columns: Columns,
    header: bool | None = None,
    test_columns: Columns | None = None,
    leave_out_broken: bool = False,
    **files: str,
) -> Reader:
    """Returns a reader of tab-separated files without quotes, as in GLUE.

    A quote is a character of the text, with one exception for files from Excel:
    if a field begins and ends with a quote, and all quotes inside the field are
    doubled, the outer quotes are removed, and the doubled quotes become single.
    To read a file in which all fields are in quotes, or in which quotes enclose
    line breaks, use `csv`.

    `columns` maps each field to its column: the 0-based index, which is -1 for
    the last column, or the name in the header. For splits without labels,
    `test_columns` replaces `columns`. `header` says whether each file begins
    with a header; it is required if `columns` or `test_columns` has only
    indices. With `header=False`, a file still has a header if one of its
    columns is given by name. A blank line is skipped, unless the file has only
    one column. A line with a wrong number of columns raises InputError. With
    `leave_out_broken`, such a line is skipped and counted in the log, except in
    splits without labels: there, each row needs a prediction.
    """
    has_header = _has_header(header, columns, test_columns or columns)

    def rows(path: Path, labeled: bool) -> Iterator[Row]:
        return _table_rows(
            enumerate(map(csv_files.split_tsv, read_lines(path)), 1),
            path,
            _needed(columns if labeled else test_columns or columns, labeled),
            header=has_header,
            leave_out_broken=leave_out_broken and labeled,
        )

    return reader(rows, files)


def csv(
    *,
    columns: Columns | None = None,
    header: bool | None = None,
    **files: str,
) -> Reader:
    """Returns a reader of comma-separated files with quotes.

    Semicolons or tabs may separate the columns instead of commas. `columns` and
    `header` are as in `tsv`; without `columns`, the names in the header are the
    names of the fields.
    """
    if not columns and header is False:
        raise InputError(
            "header is False and there are no columns, so the fields have no "
            "names; give the columns, or leave header out."
        )
    has_header = not columns or _has_header(header, columns)

    def rows(path: Path, labeled: bool) -> Iterator[Row]:
        needed = _needed(columns or {}, labeled)
        delimiter = csv_files.csv_delimiter(path, needed.values())
        if not columns:
            by_name = {x: x for x in csv_files.csv_header(path, delimiter)}
            needed = _needed(by_name, labeled)
        table = csv_files.csv_table(path, delimiter)
        return _table_rows(table, path, needed, header=has_header)

    return reader(rows, files)


def jsonl(*, columns: Mapping[str, str] | None = None, **files: str) -> Reader:
    """Returns a reader of files with a JSON object on each line.

    `columns` maps each field to its name in the JSON objects; by default, both
    names are the same. Numbers and booleans become strings: 2 becomes "2", and
    true becomes "true". A field that is null is left out. Blank lines are
    skipped.
    """

    def rows(path: Path, labeled: bool) -> Iterator[Row]:
        if columns is None:
            return json_rows(path)
        return _renamed(json_rows(path), path, _needed(columns, labeled))

    return reader(rows, files)


def parquet(*, columns: Mapping[str, str], **files: str) -> Reader:
    """Returns a reader of Parquet files.

    `columns` maps each field to the name of its column. Numbers and booleans
    become strings as in `jsonl`; NaN counts as null. The reader needs an extra:
    pip install 'keras-bert-tf[parquet]'.
    """

    def rows(path: Path, labeled: bool) -> Iterator[Row]:
        return _parquet_rows(path, _needed(columns, labeled))

    return reader(rows, files)


def reader(
    rows: Callable[[Path, bool], Iterable[Row]],
    files: Mapping[str, str | None],
) -> Reader:
    """Returns a reader that checks the file of a split and yields its rows.

    `rows` takes the path of the file, and whether the split has labels. The
    reader raises FileNotFoundError if the file is absent, and InputError if the
    file has no row.
    """

    def read(data_dir: Path, split: str) -> Iterator[Row]:
        file = files.get(split)
        if not file:
            raise FileNotFoundError(f"This task has no {split} file.")
        path = to_path(data_dir) / file
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no {split} file at {path}; check that data_dir is "
                "the folder of the task."
            )
        rows_of_split = rows(path, split.startswith(("train", "validation")))
        return not_empty(rows_of_split, f"{path} contains no example.")

    return read


def read_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, without their line breaks.

    Raises InputError if the file is not UTF-8.
    """
    # Other readers would also split a line at characters such as U+2028.
    with open_text(path, errors="strict", newline="\n") as lines:
        for line in check_line_ends(lines, path):
            yield line.removesuffix("\n").removesuffix("\r")


def json_rows(path: Path) -> Iterator[Row]:
    """Yields the objects on the lines of a file, with values as in `jsonl`.

    Raises InputError if a line is not a JSON object.
    """
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=_refuse)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise InputError(
                f"Line {number} of {path} is not a JSON object; give one "
                "object per line, with null instead of NaN."
            )
        yield _numbers_as_strings(row)


def _renamed(
    rows: Iterable[Row], path: Path, columns: Mapping[str, Any]
) -> Iterator[Row]:
    """Yields rows with only the fields in `columns`, under the fields' names.

    Raises InputError at the end if a name in `columns` occurs in no row.
    """
    missing = {*columns.values()}
    for row in rows:
        missing -= row.keys()
        yield {field: row[x] for field, x in columns.items() if x in row}
    if missing:
        raise InputError(
            f"No line of {path} has {min(missing, key=str)!r}; check the "
            "names in the reader's argument `columns`."
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}.")


def _parquet_rows(path: Path, columns: Columns) -> Iterator[Row]:
    pyarrow = import_extra("pyarrow", "parquet")
    parquet_files = import_extra("pyarrow.parquet", "parquet")
    with path.open("rb") as opened:
        try:
            file = parquet_files.ParquetFile(opened)
        except pyarrow.ArrowInvalid as error:
            raise InputError(f"{path} is not Parquet: {error}.") from error
        for name in columns.values():
            _index(name, file.schema_arrow.names, path)
        for batch in file.iter_batches(columns=list(columns.values())):
            for row in batch.to_pylist():
                yield _numbers_as_strings(
                    {field: row[name] for field, name in columns.items()}
                )


def _numbers_as_strings(row: Row) -> Row:
    """Returns a row with numbers as strings; leaves out None and NaN."""
    strings: dict[str, Any] = {}
    for field, value in row.items():
        if value is None or value != value:  # NaN
            continue
        if isinstance(value, (int, float)):
            value = json.dumps(value)
        elif isinstance(value, list):  # of labels, or a vector of floats
            value = [json.dumps(x) if isinstance(x, int) else x for x in value]
        strings[field] = value
    return strings


def _has_header(header: bool | None, *all_columns: Columns) -> bool:
    if header is None and any(
        all(isinstance(x, int) for x in columns.values())
        for columns in all_columns
    ):
        raise InputError(
            "The columns are numbers, so they do not show whether the files "
            "have a header; give header=True or header=False."
        )
    return header is not False


def _needed(columns: Columns, labeled: bool) -> Columns:
    return {f: c for f, c in columns.items() if f != "label" or labeled}


def _table_rows(
    table: Table,
    path: Path,
    columns: Columns,
    *,
    header: bool,
    leave_out_broken: bool = False,
) -> Iterator[Row]:
    """Yields the row of each line of a table; skips blank lines."""
    names: list[str] = []
    if header or any(isinstance(x, str) for x in columns.values()):
        _, names = next(table, (0, []))
        if not names:
            raise InputError(f"{path} is empty.")
    indices = {f: _index(c, names, path) for f, c in columns.items()}
    num_columns = len(names)
    num_needed = max(max(i + 1, -i) for i in indices.values())
    num_broken = 0
    for number, line in table:
        is_blank = len(line) == 1 and not line[0].strip()
        if is_blank and max(num_columns, num_needed) > 1:
            continue
        num_columns = num_columns or len(line)
        if len(line) == num_columns >= num_needed:
            yield {field: line[i] for field, i in indices.items()}
        elif leave_out_broken:
            num_broken += 1
        else:
            expected = max(num_columns, num_needed)
            raise csv_files.wrong_number(number, path, len(line), expected)
    if num_broken:
        logging.warning(
            f"{num_broken} lines of {path} do not have {num_columns} columns, "
            "so they are skipped."
        )


def _index(column: int | str, names: list[str], path: Path) -> int:
    if isinstance(column, int):
        return column
    if column not in names:
        raise InputError(
            f"{path} has no column {column!r}; its header is {names}. Check "
            "its separators, and the columns of the task."
        )
    if names.count(column) > 1:
        raise InputError(
            f"{path} has two columns {column!r}; give each a different name."
        )
    return names.index(column)


def not_empty(rows: Iterable[Row], message: str) -> Iterator[Row]:
    """Yields the rows; raises InputError if there are none."""
    is_empty = True
    for row in rows:
        is_empty = False
        yield row
    if is_empty:
        raise InputError(message)
