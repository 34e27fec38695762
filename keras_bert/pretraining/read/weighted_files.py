"""The files of a run, their weights, and what their `.json` says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs
from keras_bert.io.paths import to_path
from keras_bert.pretraining.write.config import digest

_WEIGHTED = re.compile(r"(.+):(\d+\.?\d*|\.\d+)")


class WeightedFiles(NamedTuple):
    """Files of records that share a weight.

    Attributes:
        files: The names of the files.
        weight: The share of the corpus in the data, up to a common factor;
            None for the share that its records have.
    """

    files: list[str]
    weight: float | None = None


def find_weighted_files(
    input_files: str | Path | Sequence[str | Path] | None,
) -> list[WeightedFiles]:
    """Returns the files of a list, or of comma-separated names and globs.

    If each of the names ends with a weight, as in "novels*:0.7,wiki*:0.3",
    each is a corpus of its own. Otherwise all files are one corpus. None and
    "" stand for no files.

    Raises FileNotFoundError if a glob matches no file, and InputError if only
    some names have a weight, or a weight is 0.
    """
    if not input_files:
        return []
    if not isinstance(input_files, (str, Path)):
        return [WeightedFiles([str(file) for file in input_files])]
    names = str(input_files).split(",")
    matches = [_WEIGHTED.fullmatch(name.strip()) for name in names]
    if not any(matches):
        return [WeightedFiles(expand_globs(input_files))]
    corpora = []
    for name, match in zip(names, matches, strict=True):
        if not match or not float(match[2]):
            raise InputError(
                f"{name.strip()} has no weight above 0; give each of the "
                "files a weight, such as novels*:0.7,wiki*:0.3, or none."
            )
        corpora.append(WeightedFiles(expand_globs(match[1]), float(match[2])))
    return corpora


def settings_of_records(
    corpora: Iterable[WeightedFiles],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the files with a `.json`, and the settings in it."""
    for file in (file for corpus in corpora for file in corpus.files):
        description = to_path(f"{file}.json")
        if description.is_file():
            yield file, json.loads(description.read_bytes())["settings"]


def check_vocab_of_records(
    corpora: Iterable[WeightedFiles],
    vocab: Sequence[str],
    vocab_file: str | Path,
) -> None:
    """Raises InputError if records were made with another vocabulary."""
    expected = digest("\n".join(vocab))
    for file, settings in settings_of_records(corpora):
        if settings.get("vocab", expected) != expected:
            raise InputError(
                f"{file} was made with another vocabulary than {vocab_file}; "
                "create the records again with this one, or give the one that "
                "they were made with."
            )
