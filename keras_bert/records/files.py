"""The records of several TFRecord files, which are read by their numbers."""

from __future__ import annotations

import atexit
import collections
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.records.index import (
    CHECKSUM_SIZE,
    damage_error,
    data_of,
    load_index,
    make_index,
)
from keras_bert.storage.paths import is_remote, to_path

_GZIP = b"\x1f\x8b\x08"


class RecordFiles:
    """The records of several files, numbered from 0 through all of them.

    A compressed file is unpacked to a temporary one first, so a run that
    reads it starts later.

    Attributes:
        numbers: The numbers of the records of each file.
    """

    def __init__(self, files: Sequence[str], *, skip_damaged: bool = False):
        """Loads the index of each file, or makes it.

        With `skip_damaged`, all files are read once, and damaged records are
        left out; see `load_index`. Raises InputError if a file is not a
        TFRecord file.
        """
        self._files = files
        self._sources = [to_path(file) for file in files]
        self._places = []
        for i, file in enumerate(files):
            path = self._sources[i]
            if path.is_dir():
                raise InputError(
                    f"{path} is a folder; give the files in it, such as "
                    f"{path}/*."
                )
            if _is_compressed(path):
                self._sources[i] = _unpacked(path, skip_damaged)
                index = make_index(
                    self._sources[i], checked=skip_damaged, name=file
                )
            else:
                index = load_index(path, checked=skip_damaged)
            self._places.append(index.places)
        self._ends = np.cumsum([len(places) for places in self._places])
        self.numbers = [
            range(end - len(places), end)
            for places, end in zip(self._places, self._ends, strict=True)
        ]

    def read(self, numbers: Iterable[int]) -> list[bytes]:
        """Returns the data of these records.

        Raises InputError if one of them is damaged.
        """
        places = [self._find(number) for number in numbers]
        contents = _read_ranges(
            [
                (self._sources[file], *map(int, self._places[file][place]))
                for file, place in places
            ]
        )
        records = []
        for content, (file, place) in zip(contents, places, strict=True):
            data = data_of(content)
            if data is None:
                raise damage_error(self._files[file], place + 1)
            records.append(data)
        return records

    def _find(self, number):
        """Returns the file of a record, and its number in the file, from 0."""
        file = int(np.searchsorted(self._ends, number, side="right"))
        return file, int(number) - self.numbers[file].start


def _read_ranges(ranges):
    """Reads (path, begin, end of the data) and the checksum after each."""
    contents = [b""] * len(ranges)
    of_stores = collections.defaultdict(list)
    for i, (path, begin, end) in enumerate(ranges):
        if is_remote(path):
            of_stores[path.fs].append(i)
            continue
        with path.open("rb", buffering=0) as file:
            size = end + CHECKSUM_SIZE - begin
            contents[i] = os.pread(file.fileno(), size, begin)
    for store, chosen in of_stores.items():
        paths, begins, ends = zip(*(ranges[i] for i in chosen), strict=True)
        found = store.cat_ranges(
            [path.path for path in paths],
            begins,
            [end + CHECKSUM_SIZE for end in ends],
            on_error="raise",
        )
        for i, content in zip(chosen, found, strict=True):
            contents[i] = content
    return contents


def _is_compressed(path):
    if is_remote(path):  # to open it would fetch megabytes
        is_long = path.stat().st_size >= len(_GZIP)
        return is_long and path.fs.cat_file(path.path, 0, 3) == _GZIP
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _unpacked(path, skip_damaged):
    """Unpacks a file to a temporary one, which is deleted at the end."""
    logging.warning(
        "%s is compressed, so it is unpacked before the first step of every "
        "run; unpack it once to start faster.",
        path,
    )
    handle, name = tempfile.mkstemp(suffix=".tfrecord")
    atexit.register(os.remove, name)
    with os.fdopen(handle, "wb") as target, path.open("rb") as source:
        try:
            packed = gzip.open(source)
            # `read` would lose what comes shortly before the damage.
            while data := packed.read1():
                target.write(data)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            if not skip_damaged:
                raise InputError(
                    f"{path} is damaged or cut off ({error}); copy the file "
                    "or create the data again, or set skip_corrupt_records to "
                    "read the records before the damage."
                ) from error
            logging.warning(
                "%s: the file is compressed, so no record can be found after "
                "its damage.",
                path,
            )
    return Path(name)
