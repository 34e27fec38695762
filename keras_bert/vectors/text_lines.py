"""Lines of files -> the text on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from absl import logging

from keras_bert.errors import InputError
from keras_bert.kinds.fields import check_text
from keras_bert.predict.request_lines import (
    RequestLine,
    json_object,
    read_request_files,
)


def read_text_lines(
    files: Sequence[str], field: str | None
) -> Iterator[RequestLine]:
    """Yields the lines of plain or .gz files, without the line of a header.

    Raises OSError, or InputError for a damaged .gz file.
    """
    yield from read_request_files(files, header_of(field))


def header_of(field: str | None) -> tuple[str, ...]:
    """Returns the columns that make the first line of a file a header."""
    return (field,) if field else ()


def text_of(line: RequestLine, field: str | None) -> str:
    """Returns the text of a line: the whole of it, or one of its fields.

    A line with fields is a JSON object, or has the columns of a header.

    Raises InputError, which names the line, if there is no such field.
    """
    place = f"{line.place[0].upper()}{line.place[1:]}"
    if field is None:
        if line.number == 1 and json_object(line.text) is not None:
            logging.warning(
                "%s is a JSON object, and its vector is that of the whole "
                "line. If one of its fields is the text, give its name.",
                place,
            )
        text = line.text
    elif line.columns:
        parts = line.text.split("\t")
        if len(parts) != len(line.columns):
            raise InputError(
                f"{place} has {len(parts)} columns, but the header has "
                f"{len(line.columns)}."
            )
        text = parts[line.columns.index(field)]
    else:
        values = json_object(line.text)
        if values is None or field not in values:
            raise InputError(
                f"{place} has no field {field!r}; give JSON objects with this "
                "field, or columns with a header that names it."
            )
        text = values[field]
    check_text(text, f"The text of {line.place}")
    return text
