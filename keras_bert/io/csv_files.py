"""CSV and TSV files: their rows, and the delimiter of their columns."""

import csv
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.input_files import open_text

_DELIMITERS = ",;\t"
# The number of rows that `csv_delimiter` reads.
_NUM_ROWS = 20
# Without a limit, an unclosed quote would make a large file one field.
_MAX_FIELD_SIZE = 100_000_000
# Matches a text in quotes that has quotes inside, all of them doubled.
_QUOTED_BY_EXCEL = re.compile(r'"[^"]*(?:""[^"]*)+"')


def is_csv(file: str | Path) -> bool:
    """Returns whether the name of a file says that it is CSV."""
    return str(file).lower().removesuffix(".gz").endswith(".csv")


def csv_table(
    path: str | Path, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yields the line number and the columns of each row.

    A row may span several lines; the line number is the number of its last
    line. Raises InputError if the quotes are wrong or the file is not valid
    UTF-8.
    """
    with open_text(path, errors="strict", newline="") as lines:
        csv.field_size_limit(_MAX_FIELD_SIZE)
        table = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for line in table:
                if line:
                    yield table.line_num, line
        except csv.Error as error:
            raise InputError(
                f"Line {table.line_num} of {path} is not CSV: {error}; check "
                "its quotes."
            ) from error


def split_tsv(line: str) -> list[str]:
    """Returns the columns of a TSV line, without the quotes that Excel adds."""
    fields = line.split("\t")
    if '""' not in line:
        return fields
    return [
        x[1:-1].replace('""', '"') if _QUOTED_BY_EXCEL.fullmatch(x) else x
        for x in fields
    ]


def wrong_number(
    number: int, path: str | Path, columns: int, expected: int
) -> InputError:
    """Returns the error for a line with a wrong number of columns."""
    return InputError(
        f"Line {number} of {path} has {columns} columns, but {expected} are "
        "expected; check its separators and quotes."
    )


def csv_header(path: str | Path, delimiter: str) -> list[str]:
    """Returns the names of the columns; [] if the quotes are wrong."""
    try:
        return next(csv_table(path, delimiter), (0, []))[1]
    except InputError:
        return []


def csv_delimiter(path: str | Path, columns: Collection[int | str]) -> str:
    """Returns the delimiter with which the header has all `columns`, or ",".

    A column is a name or an index. If several delimiters fit, one that makes
    equally many columns in each of the first rows is better, and a comma is
    better than a semicolon or a tab, which may be part of a text. A delimiter
    must make at least two columns, because even a wrong delimiter makes a
    column with the index 0.
    """

    def rank(delimiter: str) -> int:
        table = csv_table(path, delimiter)
        try:
            rows = [row for _, row in itertools.islice(table, _NUM_ROWS)]
        except InputError:
            return 0
        names = rows[0] if rows else []
        indices = range(-len(names), len(names))
        fits = all(c in names or c in indices for c in columns)
        if not fits or len(names) < 2:
            return 0
        return 2 if len({*map(len, rows)}) == 1 else 1

    return max(_DELIMITERS, key=rank)
