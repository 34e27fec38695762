"""Damaged TFRecord files: which record is damaged, and what can be read.

A record is the length of its data (8 bytes), a checksum of the length (4),
the data and a checksum of the data (4). TensorFlow stops at the first wrong
checksum. If only the data is damaged, the length tells where the next record
begins.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator

import google_crc32c
import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from keras_bert.errors import InputError
from keras_bert.files import full_disk_named
from keras_bert.pretraining.write.ids_to_stretches import (
    FEATURES as STRETCH_FEATURES,
)

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


def records_of(file: str) -> tf.data.Dataset:
    """Returns the bytes of each record of a file, compressed or not."""
    return tf.data.TFRecordDataset(file, compression(file))


def compression(file: str) -> str:
    """Returns the compression type, as TensorFlow's readers take it."""
    with tf.io.gfile.GFile(file, "rb") as start:
        return "GZIP" if start.read(2) == b"\x1f\x8b" else ""


@contextlib.contextmanager
def damage_named(files: list[str]) -> Iterator[None]:
    """Names the record that TensorFlow could not read or parse.

    Raises InputError in place of TensorFlow's error.
    """
    try:
        yield
    except tf.errors.DataLossError as error:
        for file in files:
            if not _is_sound(file):
                number = 1 + _count(records_of(file).ignore_errors())
                raise InputError(
                    f"{file} is damaged or cut off at record {number}; copy "
                    "the file or create the data again, or set "
                    "skip_corrupt_records to leave out damaged records."
                ) from error
        raise
    except tf.errors.InvalidArgumentError as error:
        if "ParseExample" in error.message:
            for file in files:
                number = _first_unlike(file)
                if number:
                    raise InputError(
                        f"Record {number} of {file} is not like the first one "
                        "of the file; create the data again with one "
                        "max_seq_length and max_predictions_per_seq."
                    ) from error
        raise


def without_damage(file: str) -> str | None:
    """Reads a whole file; returns it, or a copy without damaged records.

    Warnings say which records are left out, and where no more records can be
    found: after the damage of a compressed file, and after a damaged length.
    The copy is in the folder for temporary files and is deleted when the
    program ends. Returns None if no record is sound.
    """
    if _is_sound(file):
        return file
    handle, copy = tempfile.mkstemp(suffix=".tfrecord")
    os.close(handle)
    atexit.register(os.remove, copy)
    num_kept, damaged = 0, []
    with (
        full_disk_named(copy, tf.errors.OpError),
        tf.io.TFRecordWriter(copy) as writer,
    ):
        for number, record in enumerate(_walk(file), 1):
            if record is None:
                damaged.append(number)
            else:
                writer.write(record)
                num_kept += 1
    numbers = ", ".join(map(str, damaged[:10]))
    logging.warning(
        "%s: %d damaged records are left out (number %s), %d are read.",
        file,
        len(damaged),
        numbers + ", ..." if len(damaged) > 10 else numbers,
        num_kept,
    )
    return copy if num_kept else None


def _walk(file):
    """Yields the data of each record that can be found, None if damaged."""
    if compression(file):
        try:
            yield from records_of(file).as_numpy_iterator()
        except tf.errors.DataLossError:
            yield None
            logging.warning(
                "%s: the file is compressed, so no record can be found after "
                "its damage.",
                file,
            )
        return
    with open(file, "rb") as source:
        while header := source.read(_HEADER.size):
            if (
                len(header) < _HEADER.size
                or _checksum(header[:8]) != header[8:]
            ):
                yield None
                logging.warning(
                    "%s: the length of a record is damaged, so no record can "
                    "be found in the last %d bytes.",
                    file,
                    os.path.getsize(file) - source.tell() + len(header),
                )
                return
            data = source.read(_HEADER.unpack(header)[0])
            is_sound = source.read(_CHECKSUM.size) == _checksum(data)
            yield data if is_sound else None


def _checksum(data):
    """Returns TensorFlow's masked CRC-32C, as the 4 bytes of the file."""
    crc = google_crc32c.value(data)
    masked = (crc >> 15 | crc << 17) + 0xA282EAD8
    return _CHECKSUM.pack(masked & 0xFFFFFFFF)


def _first_unlike(file):
    first = None
    records = records_of(file).ignore_errors()
    for number, record in enumerate(records.as_numpy_iterator(), 1):
        lengths = _lengths(record)
        first = first or lengths
        if lengths != first:
            return number
    return None


def _lengths(record):
    """Returns the lengths of the features; None if they cannot be parsed."""
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        return None
    if set(features) == set(STRETCH_FEATURES):
        return set(features)  # their lengths differ from record to record
    return {
        name: (len(feature.int64_list.value), len(feature.float_list.value))
        for name, feature in features.items()
    }


def _is_sound(file):
    try:
        _count(records_of(file))
    except tf.errors.DataLossError:
        return False
    return True


def _count(dataset):
    return int(dataset.reduce(0, lambda number, _: number + 1))
