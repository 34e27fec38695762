"""The index of a TFRecord file: where the data of each record is.

A record is the length of its data (8 bytes), a checksum of the length (4),
the data and a checksum of the data (4). If only the data is damaged, the
length tells where the next record begins.
"""

from __future__ import annotations

import array
import contextlib
import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import google_crc32c
import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import shared_path

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
CHECKSUM_SIZE = _CHECKSUM.size


class Index(NamedTuple):
    """Where the records of a file are.

    Attributes:
        places: The begin and the end of the data of each record, in bytes,
            int64 [n, 2].
        num_damaged: The number of records that are left out.
    """

    places: np.ndarray
    num_damaged: int = 0


def load_index(path: Path, *, checked: bool = False) -> Index:
    """Returns the index of a file; makes it if there is none.

    The index is saved in a hidden file beside the file and is made again if
    the file changes.

    Args:
        path: An uncompressed TFRecord file.
        checked: Whether to read all data, and to leave out damaged records
            with a warning. Otherwise only lengths are read.

    Raises:
        InputError: Without `checked`, if a length is damaged or the file is
            cut off.
    """
    index = _load(path, checked)
    if index is None:
        index = make_index(path, checked=checked)
        save_index(path, index, checked=checked)
    return index


def make_index(
    path: Path, *, checked: bool = False, name: str | Path = ""
) -> Index:
    """Reads a file and returns its index; see `load_index`.

    Messages call the file by the `name`, by default its path.
    """
    name = name or path
    places, damaged = array.array("q"), []
    size = path.stat().st_size
    with path.open("rb") as file:
        for number, (begin, end) in enumerate(_walk(file, size, checked), 1):
            if end is not None:
                places.extend((begin, end))
                continue
            if not checked:
                raise damage_error(name, number)
            damaged.append(number)
        if file.tell() < size:
            logging.warning(
                "%s: the length of a record is damaged, so no record can be "
                "found in the last %d bytes.",
                name,
                size - begin + _HEADER.size,
            )
    if damaged:
        numbers = ", ".join(map(str, damaged[:10]))
        logging.warning(
            "%s: %d damaged records are left out (number %s), %d are read.",
            name,
            len(damaged),
            numbers + ", ..." if len(damaged) > 10 else numbers,
            len(places) // 2,
        )
    table = np.array(places, np.int64).reshape(-1, 2)
    return Index(table, len(damaged))


def index_of(lengths: np.ndarray) -> Index:
    """Returns the index of an undamaged file, from the lengths of its data."""
    ends = np.cumsum(lengths + _HEADER.size + CHECKSUM_SIZE) - CHECKSUM_SIZE
    return Index(np.stack([ends - lengths, ends], axis=1))


def save_index(path: Path, index: Index, *, checked: bool = False) -> None:
    """Saves the index beside its file, unless the folder is read-only."""
    # The first two rows say what the index was made of.
    head = np.array([_stamp(path), (checked, index.num_damaged)], np.int64)
    # Another worker may save the same index at the same time.
    with contextlib.suppress(OSError), shared_path(_index_path(path)) as file:
        with file.open("wb") as target:
            np.save(target, np.concatenate([head, index.places]))


def data_of(data_and_checksum: bytes) -> bytes | None:
    """Returns the data of a record; None if its checksum is wrong."""
    data = data_and_checksum[:-CHECKSUM_SIZE]
    checksum = data_and_checksum[-CHECKSUM_SIZE:]
    return data if checksum == _checksum(data) else None


def damage_error(path: str | Path, number: int) -> InputError:
    """Returns the error for the first damaged record, numbered from 1."""
    if number == 1:
        return InputError(
            f"{path} is not a TFRecord file, or is damaged; make it with "
            "keras-bert create-pretraining-data."
        )
    return InputError(
        f"{path} is damaged or cut off at record {number}; copy the file or "
        "create the data again, or set skip_corrupt_records to leave out "
        "damaged records."
    )


def _walk(
    file: BinaryIO, size: int, checked: bool
) -> Iterator[tuple[int, int | None]]:
    """Yields the begin and the end of each record; None for damaged data.

    Stops after a damaged length.
    """
    place = 0
    while header := file.read(_HEADER.size):
        begin = place + _HEADER.size
        if len(header) < _HEADER.size or _checksum(header[:8]) != header[8:]:
            yield begin, None
            return
        end = begin + _HEADER.unpack(header)[0]
        place = end + CHECKSUM_SIZE
        if checked:
            is_sound = data_of(file.read(place - begin)) is not None
        else:
            is_sound = place <= size
            file.seek(place)
        yield begin, end if is_sound else None


def _checksum(data):
    """Returns TensorFlow's masked CRC-32C, as the 4 bytes of the file."""
    crc = google_crc32c.value(data)
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return _CHECKSUM.pack(masked & 0xFFFFFFFF)


def _load(path, checked):
    """Returns the saved index; None if it does not fit."""
    saved = _index_path(path)
    try:
        if is_remote(saved):
            table = np.load(io.BytesIO(saved.read_bytes()))
        else:
            table = np.load(saved, mmap_mode="r")
    except (OSError, ValueError):  # there is none, or it is damaged
        return None
    if table.dtype != np.int64 or table.ndim != 2 or len(table) < 2:
        return None
    was_checked, num_damaged = table[1]
    if (
        tuple(table[0]) != _stamp(path)
        or was_checked < checked
        or (num_damaged and not checked)
    ):
        return None
    if num_damaged:
        logging.warning(
            "%s: %d damaged records are left out.", path, num_damaged
        )
    return Index(table[2:], int(num_damaged))


def _index_path(path):
    return path.with_name(f".{path.name}.index.npy")


def _stamp(path):
    stat = path.stat()
    return stat.st_size, int(stat.st_mtime * 1000)
