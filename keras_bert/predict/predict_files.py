"""Files or lines of text -> answers, as JSON lines."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError, is_list
from keras_bert.io.csv_files import is_csv
from keras_bert.io.folders import local_copy
from keras_bert.io.input_files import check_is_no_input, expand_globs
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.predict import request_lines
from keras_bert.predict.request_lines import RequestLine
from keras_bert.predict.served_model import ServedModel
from keras_bert.progress import Progress

# The number of lines that are sorted by length together. A run that is killed
# loses the answers to at most this many lines.
LINES_PER_CHUNK = 1024


def predict_files(
    model_dir: str | Path,
    input_file: str | None,
    output_file: str | Path | None = None,
    *,
    signature: str = "serving_default",
) -> int:
    """Writes a model's answers to the lines of files, as JSON lines, in order.

    A line is a JSON object with the inputs of the model, or the inputs
    separated by tabs, or simply the text if the model takes one text. A file
    may begin with a header: a line of column names that includes all inputs. A
    `.csv` file must have a header, and may have quotes. The answer to a line
    that cannot be read is an `error`.

    The output file appears when it is complete. If the process is killed,
    repeat the call: it continues after the last answers, and the file has the
    same bytes as after an uninterrupted call.

    Example:
        >>> folder = keras_bert.load_finetuned("finetuned").export("served")
        >>> keras_bert.predict_files("served", "sst2/*.tsv", "answers.jsonl")
        0
        >>> with open("answers.jsonl") as answers:
        ...     print(next(answers))
        {"sentence": "a very good film", "label": ...}

    Args:
        model_dir: The folder that `FinetunedModel.export` wrote.
        input_file: The text or CSV files, plain or .gz, as comma-separated
            names or globs; None for standard input.
        output_file: The file to write, compressed if its name ends with .gz;
            None for standard output.
        signature: The name of the model's signature to call.

    Returns:
        The number of lines that could not be read.

    Raises:
        InputError: If there is no such model or signature, if an input file is
            damaged, or if an unfinished output file belongs to another model or
            text.
    """
    check_is_no_csv(output_file)
    if input_file is None:
        model = ServedModel(model_dir, signature)
        stdin: Any = sys.stdin
        stdin.reconfigure(
            encoding="utf-8", errors="surrogateescape", newline="\n"
        )
        lines = request_lines.read_request_lines(stdin, model.inputs)
        return _predict(model, signature, lines, output_file)
    files = expand_globs(input_file)
    if output_file:
        check_is_no_input(output_file, files)
    model = ServedModel(model_dir, signature)
    lines = request_lines.read_request_files(files, model.inputs)
    num_lines = request_lines.count_lines(files, model.inputs)
    return _predict(model, signature, lines, output_file, num_lines)


def predict_lines(
    model_dir: str | Path,
    lines: Iterable[str],
    output_file: str | Path | None = None,
    *,
    signature: str = "serving_default",
) -> int:
    """Writes a model's answers to lines of text, as JSON lines, in order.

    The lines are as in `predict_files`, but have no header. Returns the number
    of lines that could not be read. Raises InputError like `predict_files`, and
    if a line is not a string.

    Example:
        >>> folder = keras_bert.load_finetuned("finetuned").export("served")
        >>> keras_bert.predict.predict_lines("served", ["a good film"])
        {"sentence": "a good film", "label": ...}
        0
    """
    check_is_no_csv(output_file)
    if not is_list(lines):
        raise _not_lines(lines)
    model = ServedModel(model_dir, signature)
    return _predict(model, signature, _numbered(lines), output_file)


def _numbered(lines: Iterable[str]) -> Iterator[RequestLine]:
    for number, text in enumerate(lines, 1):
        if not isinstance(text, str):
            raise _not_lines(text)
        yield RequestLine(text.rstrip("\r\n"), number)


def _not_lines(given: Any) -> InputError:
    return InputError(
        f"The lines must be a list of strings, not {given!r:.100}; write the "
        "fields of a line as a JSON object, or with tabs between them."
    )


def check_is_no_csv(output_file: str | Path | None) -> None:
    """Raises InputError if the output file has the name of a CSV file."""
    if output_file and is_csv(output_file):
        raise InputError(
            f"The answers are JSON lines, but {output_file} would be CSV; give "
            "a name that ends with .jsonl."
        )


def _predict(
    model: ServedModel,
    signature: str,
    lines: Iterable[RequestLine],
    output_file: str | Path | None,
    num_lines: int | None = None,
) -> int:
    output: Any = (
        ResumableFile(output_file) if output_file else _StandardOutput()
    )
    folder = local_copy(model.folder)
    run = {"model": _fingerprint(folder), "signature": signature}
    done = output.state or {"num_lines": 0, "num_errors": 0}
    num_errors = done["num_errors"]
    bar = bool(output_file) or not sys.stdout.isatty()
    with Progress(
        "Predicting", num_lines, "lines", initial=done["num_lines"], bar=bar
    ) as progress:
        for chunk, state in request_lines.new_chunks(
            lines, LINES_PER_CHUNK, output, run
        ):
            answers, num_new = request_lines.answer_lines(model, chunk)
            num_errors += num_new
            text = "".join(map(request_lines.to_json_line, answers))
            output.append(text, state | {"num_errors": num_errors})
            progress.update(len(chunk))
    output.finish()
    return num_errors


class _StandardOutput:
    """Standard output with the methods of a `ResumableFile`."""

    state = None

    def append(self, text: str, state: dict[str, Any]) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def finish(self) -> None:
        pass


def _fingerprint(folder: Path) -> str:
    """Returns a hash of the files of a version.

    The variables of a SavedModel are not read, because they can be large. Two
    exports still have different hashes, because each has its own
    fingerprint.pb.
    """
    hashed = hashlib.blake2b(digest_size=16)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.parent.name != "variables":
            name = file.relative_to(folder).as_posix().encode()
            hashed.update(b"%d %s" % (len(name), name))
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, hashlib.blake2b)
            hashed.update(digest.digest())
    return hashed.hexdigest()
