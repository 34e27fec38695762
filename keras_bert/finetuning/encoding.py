"""Rows -> encoded examples in files, once for each text and its settings.

The name of a file says what it was made from: the rows of its chunk, the kind
with its settings, the tokenizer, and our code. So a run finds the files of an
earlier or killed one, and never those of anything else.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import hashlib
import inspect
import os
import pickle
import time
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.finetuning.encoded_files import (
    CHOICES,
    form,
    map_examples,
    read_arrays,
    write_examples,
)
from keras_bert.io.paths import is_remote, to_path
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import NumberedRows, in_chunks
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.spec import spec_to_json
from keras_bert.progress import Progress
from keras_bert.tasks.base import Row

# TensorFlow encodes without Python's lock. Python's share of the work, a third
# for short texts, keeps more threads from helping.
_MAX_THREADS = 4
_SECONDS_TO_WRITE = 3600
_PICKLE = 5  # the protocol


def encoded_folder(
    output_dir: str | Path, cache_dir: str | Path | None
) -> Path:
    """Returns the local folder for the encoded training set of a run.

    Raises InputError if the `cache_dir` is not local.
    """
    if cache_dir and is_remote(to_path(cache_dir)):
        raise InputError(
            f"The cache_dir {cache_dir} is not on this machine; give a local "
            "folder, from which the batches are read."
        )
    folder = to_path(cache_dir or output_dir)
    if is_remote(folder):
        # The names of the files tell the runs apart.
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "keras_bert" / "encoded"
    return folder if cache_dir else folder / "encoded"


def encode_rows(kind: Kind, rows: Iterable[Row], folder: Path) -> Examples:
    """Encodes labeled rows, in chunks, if their files are not in the folder.

    Memory holds a few chunks at a time; the examples are mapped from disk.
    Raises InputError if a row is wrong.
    """
    key = _key(kind)
    paths: list[Path] = []
    first_form: dict[str, tuple] = {}
    waiting: collections.deque = collections.deque()
    num_threads = min(_MAX_THREADS, os.cpu_count() or 1)
    with (
        concurrent.futures.ThreadPoolExecutor(num_threads) as executor,
        Progress("Encoding", unit="rows") as progress,
    ):

        def finish_one():
            chunk, future = waiting.popleft()
            path, its_form = future.result()
            _check_agree(first_form or its_form, its_form, chunk.first_number)
            first_form.update(its_form)
            paths.append(path)
            progress.update(len(chunk))

        try:
            for chunk in in_chunks(rows):
                if len(waiting) > num_threads:
                    finish_one()
                future = executor.submit(_encode, kind, chunk, folder, key)
                waiting.append((chunk, future))
            while waiting:
                finish_one()
        finally:
            executor.shutdown(cancel_futures=True)
    _remove_remains(folder)
    return map_examples(paths, folder)


def _encode(
    kind: Kind, rows: NumberedRows, folder: Path, key: bytes
) -> tuple[Path, dict[str, tuple]]:
    """Returns the file of a chunk, which it makes if needed, and its form."""
    # Unlike a printed form, no two different rows have the same pickle.
    digest = hashlib.blake2b(pickle.dumps(list(rows), _PICKLE), key=key)
    path = folder / f"{digest.hexdigest()[:32]}.safetensors"
    arrays = read_arrays(path)
    if arrays is None:
        if path.exists():
            logging.warning("%s is damaged, so it is made again.", path)
        examples = kind.encode(rows, labeled=True)
        examples.weights.update(kind.training_weights(examples.labels))
        write_examples(path, examples)
        arrays = read_arrays(path)
        if arrays is None:
            raise OSError(f"{path} cannot be read back; check the disk.")
    return path, form(arrays)


def _key(kind):
    """Returns a hash of all that the encoding of a row depends on."""
    sources = [
        file
        for part in ("kinds", "text")
        for file in sorted((Path(__file__).parents[1] / part).rglob("*.py"))
    ]
    # The file of a kind that a user wrote.
    own = inspect.getsourcefile(inspect.unwrap(type(kind).encode))
    if own:
        sources.append(Path(own))
    digest = hashlib.blake2b(digest_size=32)
    for part in (
        spec_to_json(kind.spec),
        kind.tokenizer.vocab,
        kind.tokenizer.settings,
        tf.__version__,
        kind.tokenizer.implementation,
        *(hashlib.blake2b(file.read_bytes()).digest() for file in sources),
    ):
        digest.update(pickle.dumps(part, _PICKLE))
    return digest.digest()


def _check_agree(first_form, form, number):
    if first_form == form:
        return
    (first_count,), (count,) = (
        x.get(CHOICES, (None,)) for x in (first_form, form)
    )
    if first_count != count:
        raise InputError(
            f"Example {number} has {count} choices, or texts, but example 1 "
            f"has {first_count}; all rows of a data set must have the same "
            "number."
        )
    raise InputError(
        f"`encode` of the kind makes {form} of the rows from number {number} "
        f"on, but {first_form} of the first rows; make a tensor ragged if its "
        "size depends on the rows."
    )


def _remove_remains(folder):
    """Removes what killed processes left, but not what others write now."""
    for file in folder.glob(".*.partial"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > _SECONDS_TO_WRITE:
                file.unlink()
