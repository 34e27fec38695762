"""The records of several TFRecord files, which are read by their numbers.

A record is the length of its data (8 bytes), a checksum of the length (4),
the data and a checksum of the data (4). The index of a file says where the
data of each record is.
"""

import array
import atexit
import collections
import contextlib
import gzip
import io
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import shared_path

_GZIP = b"\x1f\x8b\x08"
_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


class RecordFiles:
    """The records of several files, numbered from 0 through all of them.

    A compressed file is unpacked to a temporary one first, so a run that
    reads it starts later.

    Attributes:
        numbers: The numbers of the records of each file.
    """

    def __init__(self, files: Sequence[str]):
        """Loads the index of each file, or makes and saves it.

        Raises InputError if a file is not a TFRecord file.
        """
        self._files = files
        self._sources, self._places = [], []
        for file in files:
            path = to_path(file)
            if path.is_dir():
                raise InputError(
                    f"{path} is a folder; give the files in it, such as "
                    f"{path}/*."
                )
            if _is_compressed(path):
                path = _unpacked(path)
                places = make_index(path, name=file)
            elif (places := _load_index(path)) is None:
                places = make_index(path)
                save_index(path, places)
            self._sources.append(path)
            self._places.append(places)
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
        of_stores: dict[Any, list] = collections.defaultdict(list)
        for file in np.unique(files).tolist():
            path = self._sources[file]
            chosen = np.flatnonzero(files == file)
            first = self.numbers[file].start
            places = self._places[file][numbers[chosen] - first]
            places = places + [0, _CHECKSUM.size]  # which follows the data
            wanted = zip(chosen.tolist(), places.tolist(), strict=True)
            if is_remote(path):
                of_stores[path.fs] += [(i, path.path, *x) for i, x in wanted]
                continue
            with path.open("rb", buffering=0) as opened:
                source = opened.fileno()
                for i, (begin, end) in wanted:
                    contents[i] = os.pread(source, end - begin, begin)
        for store, ranges in of_stores.items():
            numbers_read, *where = map(list, zip(*ranges, strict=True))
            found = store.cat_ranges(*where, on_error="raise")
            for i, content in zip(numbers_read, found, strict=True):
                contents[i] = content
        records = []
        for content, number, file in zip(contents, numbers, files, strict=True):
            if not _is_sound(content):
                place = number - self.numbers[file].start
                raise _damage_error(self._files[file], place + 1)
            records.append(content[: -_CHECKSUM.size])
        return records


def make_index(path: Path, *, name: str | Path = "") -> np.ndarray:
    """Returns the begin and the end of the data of each record, int64 [n, 2].

    Only lengths are read. Messages call the file by the `name`, by default its
    path. Raises InputError if a length is damaged or the file is cut off.
    """
    places = array.array("q")
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while header := file.read(_HEADER.size):
            begin = place + _HEADER.size
            if is_sound := len(header) == _HEADER.size and _is_sound(header):
                end = begin + _HEADER.unpack(header)[0]
                place = end + _CHECKSUM.size
            if not is_sound or place > size:
                raise _damage_error(name or path, len(places) // 2 + 1)
            places.extend((begin, end))
            file.seek(place)
    return np.array(places, np.int64).reshape(-1, 2)


def save_index(path: Path, places: np.ndarray) -> None:
    """Saves the index in a hidden file, unless the folder is read-only."""
    # Another worker may save the same index at the same time.
    with (
        contextlib.suppress(OSError),
        shared_path(_index_path(path)) as partial,
        partial.open("wb") as file,
    ):
        np.save(file, np.concatenate([_head(path), places]))


def _load_index(path):
    """Returns the saved index; None if there is none of the file as it is."""
    saved = _index_path(path)
    try:
        if is_remote(saved):
            table = np.load(io.BytesIO(saved.read_bytes()))
        else:
            table = np.load(saved, mmap_mode="r")
    except (OSError, ValueError):  # there is none, or it is damaged
        return None
    is_of_file = table.dtype == np.int64 and np.array_equal(
        table[:2], _head(path)
    )
    return table[2:] if is_of_file else None


def _index_path(path):
    return path.with_name(f".{path.name}.index.npy")


def _head(path):
    """Returns the first two rows of an index: what the file was like."""
    stat = path.stat()
    # Earlier versions wrote there how many records were left out.
    return np.array([(stat.st_size, int(stat.st_mtime * 1000)), (0, 0)])


def _is_sound(content):
    """Returns whether bytes end with their masked CRC-32C, as TensorFlow's."""
    crc = google_crc32c.value(content[: -_CHECKSUM.size])
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return content[-_CHECKSUM.size :] == _CHECKSUM.pack(masked & 0xFFFFFFFF)


def _damage_error(path, number):
    """Returns the error for the first damaged record, numbered from 1."""
    if number == 1:
        return InputError(
            f"{path} is not a TFRecord file, or is damaged; make it with "
            "keras-bert create-pretraining-data."
        )
    return InputError(
        f"{path} is damaged or cut off at record {number}; copy the file or "
        "create the data again."
    )


def _is_compressed(path):
    if is_remote(path):  # to open it would fetch megabytes
        is_long = path.stat().st_size >= len(_GZIP)
        return is_long and path.fs.cat_file(path.path, 0, 3) == _GZIP
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _unpacked(path):
    """Unpacks a file to a temporary one, which is deleted at the end."""
    logging.warning(
        f"{path} is compressed, so it is unpacked before the first step of "
        "every run; unpack it once to start faster."
    )
    handle, name = tempfile.mkstemp(suffix=".tfrecord")
    atexit.register(os.remove, name)
    with os.fdopen(handle, "wb") as target, path.open("rb") as source:
        try:
            shutil.copyfileobj(gzip.open(source), target)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"{path} is damaged or cut off ({error}); copy the file or "
                "create the data again."
            ) from error
    return Path(name)
