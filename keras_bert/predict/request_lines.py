"""Lines of text -> requests -> answers; chunks of lines, for resuming.

A line is a JSON object with the inputs of the model, or the inputs separated by
tabs, or simply the text if the model takes one text. An input that is a list
takes the rest of the line.

A file may begin with a header: a line of column names, with tabs between them,
that includes the names of all inputs. With a header, each input is read from
the column with its name, and all other columns are ignored. If an input is a
list, several columns may have its name. A file whose name ends with .csv must
have a header, with commas, semicolons or tabs between the columns.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keras_bert.errors import InputError
from keras_bert.io import csv_files
from keras_bert.io.input_files import (
    check_line_ends,
    json_object,
    open_text,
)
from keras_bert.io.paths import to_path
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.predict.served_model import ServedModel, capitalized, is_unicode

# Matches JSON that was cut off, a Python dict, or a list of strings or objects.
_LIKE_JSON = re.compile(r"""\s*(\{\s*["']|\[\s*["'{[])""")


class RequestLine(NamedTuple):
    """A line of text and its source.

    Attributes:
        text: The line without its line break. Bytes that are not UTF-8 are
            surrogates, as `errors="surrogateescape"` makes them.
        number: The line number in the file; the first line has the number 1.
        file: The name of the file; "" if the line is not from a file.
        columns: The column names in the file's header; empty without a header.
    """

    text: str
    number: int
    file: str = ""
    columns: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"line {self.number}" + (f" of {self.file}" if self.file else "")


def read_request_files(
    files: Iterable[str], inputs: Sequence[str]
) -> Iterator[RequestLine]:
    """Yields the lines of plain or .gz files, without headers.

    A first line with the names of all `inputs` is a header. Raises OSError if a
    file cannot be opened, and InputError if a file is damaged or a CSV file
    lacks a column of the `inputs`.
    """
    for file in files:
        if csv_files.is_csv(file):
            yield from _read_csv(file, inputs)
            continue
        with open_text(file, errors="surrogateescape", newline="\n") as lines:
            yield from read_request_lines(lines, inputs, file)


def read_request_lines(
    lines: Iterable[str], inputs: Sequence[str], file: str = ""
) -> Iterator[RequestLine]:
    """Yields the lines of one file, without its header.

    A first line with the names of all `inputs` is a header; if `inputs` is
    empty, there is no header. Raises InputError if the first line is nearly a
    header.
    """
    columns: tuple[str, ...] = ()
    for number, text in enumerate(check_line_ends(lines, file), 1):
        # Some editors start a file with a byte-order mark.
        text = text.rstrip("\r\n").removeprefix("\ufeff")
        if number == 1 and inputs and _is_header(text, inputs, file):
            columns = tuple(text.split("\t"))
        else:
            yield RequestLine(text, number, file, columns)


def _read_csv(file: str, inputs: Sequence[str]) -> Iterator[RequestLine]:
    """Yields each row of a CSV file as a line with a JSON object."""
    delimiter = csv_files.csv_delimiter(file, inputs)
    rows = csv_files.csv_table(file, delimiter)
    _, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{file} is empty.")
    names = ", ".join(header)
    if not inputs:
        raise InputError(
            f"{file} has the columns {names}; name the column with the text, "
            "such as --field=text."
        )
    if not set(inputs) <= set(header):
        raise InputError(
            f"{file} has the columns {names}, but {', '.join(inputs)} must be "
            "among them; name these columns in the first line."
        )
    for number, row in rows:
        if len(row) == 1 < len(header) and not row[0].strip():
            continue  # a blank line
        if len(row) != len(header):
            raise csv_files.wrong_number(number, file, len(row), len(header))
        if any("\0" in value for value in row):
            raise InputError(
                f"Line {number} of {file} contains a null byte; save the "
                "file as UTF-8 text."
            )
        values = by_column(header, row, inputs)
        yield RequestLine(json.dumps(values), number, file)


def by_column(
    header: Sequence[str], row: Sequence[Any], inputs: Sequence[str]
) -> dict[str, Any]:
    """Returns the values of a row, keyed by column name.

    If several columns have the name of an input, the input is a list of their
    values, such as the endings of multiple choice.
    """
    values: dict[str, Any] = {}
    for name, value in zip(header, row, strict=True):
        if name in inputs and header.count(name) > 1:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    return values


def answer_lines(
    model: ServedModel, lines: Sequence[RequestLine]
) -> tuple[list[dict[str, Any]], int]:
    """Returns each request with its answer, and the number of invalid lines.

    For an invalid line, the result has the `error`, the line number and, if the
    line is from a file, the file.
    """
    requests, answers = {}, {}
    for place, line in enumerate(lines):
        try:
            requests[place] = read_request(model, line)
        except InputError as error:
            file = {"file": line.file} if line.file else {}
            answers[place] = file | {"line": line.number, "error": str(error)}
    num_errors = len(answers)
    given = model.answer(list(requests.values()))
    for (place, request), answer in zip(requests.items(), given, strict=True):
        answers[place] = with_answer(request, answer)
    return [answers[place] for place in range(len(lines))], num_errors


def with_answer(
    row: Mapping[str, Any], answer: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns one dict with the fields of a row and of the row's answer.

    If both have a field NAME, the answer's field becomes `predicted_NAME`.
    """
    merged = dict(row)
    for name, value in answer.items():
        while name in merged:
            name = f"predicted_{name}"
        merged[name] = value
    return merged


def to_json_line(answer: dict[str, Any]) -> str:
    """Returns an answer as a line of JSON."""
    return json.dumps(answer, ensure_ascii=False) + "\n"


def read_request(model: ServedModel, line: RequestLine) -> dict[str, Any]:
    """Returns the inputs of the request on a line, keyed by name.

    If the line is not a request, raises InputError that names the line.
    """
    place = capitalized(line.place)
    if not is_unicode(line.text):
        raise InputError(f"{place} is not UTF-8; convert the text to UTF-8.")
    if "\0" in line.text:
        raise InputError(
            f"{place} is not UTF-8, but perhaps UTF-16; convert the text to "
            "UTF-8."
        )
    values = json_object(line.text)
    if values is not None:
        return model.check(values, line.place)
    names = line.columns or model.inputs
    fields: list = csv_files.split_tsv(line.text)
    if len(fields) == 1 and _LIKE_JSON.match(line.text):
        raise InputError(
            f"{place} begins like JSON, but is not a valid JSON object; fix "
            f"it, or give the text as {model.example}."
        )
    last = names[-1]
    if last in model.inputs and model.is_list(last) and names.count(last) == 1:
        start = len(names) - 1
        fields[start:] = [fields[start:]]  # a list takes the rest of the line
    if len(fields) != len(names):
        columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
        owner = "header has" if line.columns else "model takes"
        raise InputError(
            f"{place} has {columns}, but the {owner} {len(names)}: "
            f"{', '.join(names)}. Separate columns by tabs, or give a JSON "
            "object."
        )
    return model.check(by_column(names, fields, model.inputs), line.place)


def new_chunks(
    lines: Iterable[RequestLine],
    size: int,
    output: ResumableFile,
    run: Mapping[str, Any],
) -> Iterator[tuple[list[RequestLine], dict[str, Any]]]:
    """Yields chunks of lines, without those whose results the output has.

    A chunk has `size` lines; the last one may have fewer. With each chunk comes
    the state to append to the output with the results of the chunk: the `run`,
    and `num_lines` and `digest`, the number and a hash of all lines so far.

    Raises InputError if the output belongs to another run or to other lines.
    """
    done = output.state or {}
    is_new, num_lines = not done, 0
    hashed, lines = hashlib.blake2b(digest_size=16), iter(lines)
    if is_new or done == {**done, **run}:
        while chunk := list(itertools.islice(lines, size)):
            num_lines += len(chunk)
            for line in chunk:
                hashed.update(ascii(line).encode())
            digest = hashed.hexdigest()
            if is_new:
                yield chunk, {**run, "num_lines": num_lines, "digest": digest}
            is_new = is_new or digest == done["digest"]
    if not is_new:
        raise InputError(
            f"{output.folder} holds results of another model or of other "
            "lines; delete it to start over, or choose another output file."
        )


def count_lines(files: Sequence[str], inputs: Sequence[str]) -> int | None:
    """Returns the number of lines, or None if it is not known beforehand."""
    # A pipe can be read only once.
    if not all(to_path(file).is_file() for file in files):
        return None
    return sum(1 for _ in read_request_files(files, inputs))


def _is_header(text: str, inputs: Sequence[str], file: str) -> bool:
    """Returns whether a first line is a header.

    Raises InputError if the line is nearly a header.
    """
    if set(inputs) <= set(text.split("\t")):
        return True
    parts = [x.strip(" \"'").lower() for x in re.split("[,;\t]", text)]
    if len(parts) > 1 and {x.lower() for x in inputs} <= set(parts):
        raise InputError(
            f"The first line of {file or 'the input'} names "
            f"{' and '.join(inputs)}, but not as a header; write exactly these "
            "names with tabs between the columns, or JSON lines."
        )
    return False
