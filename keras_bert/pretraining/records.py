"""The records of several TFRecord files, read by index, and their order.

A record is the length of its data (8 bytes), a checksum of the length (4), the
data and a checksum of the data (4). The saved index of a file contains the
offsets at which the data of each record begin and end.

The order of a run is a function: the record at position p depends only on the
seed and p. So a run can start at any position, and any number of workers can
each compute their own part. An epoch is shuffled twice. First, blocks of
neighboring records, from all files, are put in a random order. Then the records
of many neighboring blocks, a window, are shuffled together. Because the second
shuffle stays within a window, reads stay for some time within a part of the
files that fits into the disk cache.
"""

import array
import atexit
import collections
import contextlib
import functools
import gzip
import io
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
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
_BLOCK = 256
_WINDOW = 2048  # blocks, so 524,288 records


class RecordFiles:
    """The records of several files, numbered from 0 across all files.

    A compressed file is first unpacked to a temporary file, so a run that reads
    it starts later.

    Attributes:
        numbers: The range of record indices of each file.
    """

    def __init__(self, files: Sequence[str]):
        """Loads the index of each file, or makes and saves it.

        Raises InputError if a file is not a TFRecord file.
        """
        self._files = files
        self._sources: list[Any] = []
        self._places: list[np.ndarray] = []
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
            elif (index := _load_index(path)) is not None:
                places = index
            else:
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
        """Returns the data of the records with these numbers.

        Raises InputError if one of the records is damaged.
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
            places = places + [0, _CHECKSUM.size]  # with the checksum
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
            read = store.cat_ranges(*where, on_error="raise")
            for i, content in zip(numbers_read, read, strict=True):
                contents[i] = content
        records = []
        for content, number, file in zip(contents, numbers, files, strict=True):
            if not _is_sound(content):
                place = number - self.numbers[file].start
                raise _damage_error(self._files[file], place + 1)
            records.append(content[: -_CHECKSUM.size])
        return records


class ShuffledOrder:
    """An endless random order of records, given by the records' indices.

    Each record comes once before any record comes twice.
    """

    def __init__(self, num_records: int, *, seed: int):
        self._size = num_records
        # The order is the same as in earlier versions, in which 0 was the index
        # of the first of several corpora.
        self._seed = (seed, 0)
        self._epoch = functools.lru_cache(maxsize=2)(self._draw_epoch)
        self._window = functools.lru_cache(maxsize=4)(self._draw_window)

    def __call__(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the index and the epoch of the record at each position.

        Positions, indices and epochs are 0-based, int64 [n].
        """
        epochs, places = np.divmod(positions, self._size)
        records = np.empty_like(places)
        for epoch, in_epoch in _groups(epochs):
            _, ends = self._epoch(epoch)
            windows = np.searchsorted(ends, places[in_epoch], side="right")
            for window, chosen in _groups(windows):
                chosen = in_epoch[chosen]
                begin = ends[window - 1] if window else 0
                shuffled = self._window(epoch, window)
                records[chosen] = shuffled[places[chosen] - begin]
        return records, epochs

    def _draw_epoch(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the order of the blocks, and the end of each window."""
        num_blocks = -(-self._size // _BLOCK)
        generator = np.random.default_rng((*self._seed, epoch))
        blocks = generator.permutation(num_blocks)
        sizes = np.minimum(_BLOCK, self._size - blocks * _BLOCK)
        windows = np.arange(0, num_blocks, _WINDOW)
        return blocks, np.cumsum(np.add.reduceat(sizes, windows))

    def _draw_window(self, epoch: int, window: int) -> np.ndarray:
        blocks, _ = self._epoch(epoch)
        blocks = blocks[window * _WINDOW : (window + 1) * _WINDOW, None]
        records = (blocks * _BLOCK + np.arange(_BLOCK)).ravel()
        records = records[records < self._size]
        # Here, windows count from 1, because NumPy treats a seed that ends with
        # 0 like the seed without the 0.
        generator = np.random.default_rng((*self._seed, epoch, 1 + window))
        return generator.permutation(records)


def make_index(path: Path, *, name: str | Path = "") -> np.ndarray:
    """Returns where the data of each record begin and end, int64 [n, 2].

    Only the lengths of the records are read. Messages call the file `name`, by
    default its path. Raises InputError if a length is damaged or the file is
    cut off.
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
        np.save(file, np.concatenate([_file_stamp(path), places]))


def _load_index(path: Path) -> np.ndarray | None:
    """Returns the saved index, or None if it is missing or out of date."""
    saved = _index_path(path)
    try:
        if is_remote(saved):
            table = np.load(io.BytesIO(saved.read_bytes()))
        else:
            table = np.load(saved, mmap_mode="r")
    except (OSError, ValueError):  # there is none, or it is damaged
        return None
    is_of_file = table.dtype == np.int64 and np.array_equal(
        table[:2], _file_stamp(path)
    )
    return table[2:] if is_of_file else None


def _index_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.index.npy")


def _file_stamp(path: Path) -> np.ndarray:
    """Returns an index's first two rows: the file's size and change time."""
    stat = path.stat()
    # In earlier versions, the second row was the number of skipped records. It
    # stays as 0, so that indexes from earlier versions can be used.
    return np.array([(stat.st_size, int(stat.st_mtime * 1000)), (0, 0)])


def _is_sound(content: bytes) -> bool:
    """Returns whether bytes end with their masked CRC-32C, as TFRecords do."""
    crc = google_crc32c.value(content[: -_CHECKSUM.size])
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return content[-_CHECKSUM.size :] == _CHECKSUM.pack(masked & 0xFFFFFFFF)


def _damage_error(path: str | Path, number: int) -> InputError:
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


def _is_compressed(path: Any) -> bool:
    if is_remote(path):  # opening it would fetch megabytes
        is_long = path.stat().st_size >= len(_GZIP)
        return is_long and path.fs.cat_file(path.path, 0, 3) == _GZIP
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _unpacked(path: Path) -> Path:
    """Returns a temporary unpacked copy, which is deleted when Python ends."""
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


def _groups(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yields each distinct value and its indices."""
    for value in np.unique(values):
        yield int(value), np.flatnonzero(values == value)
