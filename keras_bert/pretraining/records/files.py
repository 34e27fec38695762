"""The records of several TFRecord files, which are read by their numbers."""

from __future__ import annotations

import atexit
import collections
import gzip
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path
from keras_bert.pretraining.records.index import (
    CHECKSUM_SIZE,
    damage_error,
    data_of,
    load_index,
    make_index,
)

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

    def read(self, numbers: Sequence[int] | np.ndarray) -> list[bytes]:
        """Returns the data of these records.

        Raises InputError if one of them is damaged.
        """
        numbers = np.asarray(numbers, np.int64)
        files = np.searchsorted(self._ends, numbers, side="right")
        contents = [b""] * len(numbers)
        remote = []
        for file in np.unique(files).tolist():
            path = self._sources[file]
            chosen = np.flatnonzero(files == file)
            first = self.numbers[file].start
            places = self._places[file][numbers[chosen] - first]
            places = places + [0, CHECKSUM_SIZE]  # which follows the data
            wanted = zip(chosen.tolist(), places.tolist(), strict=True)
            if is_remote(path):
                remote += [(i, path, *place) for i, place in wanted]
                continue
            with path.open("rb", buffering=0) as opened:
                source = opened.fileno()
                for i, (begin, end) in wanted:
                    contents[i] = os.pread(source, end - begin, begin)
        _fetch(remote, contents)
        records = []
        for content, number, file in zip(contents, numbers, files, strict=True):
            data = data_of(content)
            if data is None:
                place = number - self.numbers[file].start
                raise damage_error(self._files[file], place + 1)
            records.append(data)
        return records


def _fetch(wanted, contents):
    """Sets contents[i] for each (i, path, begin, end), all at once."""
    of_stores = collections.defaultdict(list)
    for place in wanted:
        of_stores[place[1].fs].append(place)
    for store, places in of_stores.items():
        numbers, paths, begins, ends = zip(*places, strict=True)
        found = store.cat_ranges(
            [path.path for path in paths], begins, ends, on_error="raise"
        )
        for i, content in zip(numbers, found, strict=True):
            contents[i] = content


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
