"""Files of records -> what the `.json` beside them says of their making."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.pretraining.read.weighted_files import WeightedFiles
from keras_bert.pretraining.write.config import digest_of_vocab


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
    digest = digest_of_vocab(vocab)
    for file, settings in settings_of_records(corpora):
        if settings.get("vocab", digest) != digest:
            raise InputError(
                f"{file} was made with another vocabulary than {vocab_file}; "
                "create the records again with this one, or give the one that "
                "they were made with."
            )
