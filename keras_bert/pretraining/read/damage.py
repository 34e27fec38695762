"""Damaged TFRecord files: which record it is, and what else can be read.

A record is the length of its data (8 bytes), a checksum of the length (4),
the data and their checksum (4). TensorFlow reads a file up to the first
record whose checksums are wrong. Where that is only the one of the data, the
length says where the next record begins.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator

import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from keras_bert.errors import InputError
from keras_bert.pretraining.write.ids_to_stretches import (
    FEATURES as STRETCH_FEATURES,
)

_HEADER = struct.Struct("<QI")


def records_of(file: str) -> tf.data.Dataset:
    """The bytes of the records of a file, with gzip or without."""
    return tf.data.TFRecordDataset(file, compression(file))


def compression(file: str) -> str:
    with tf.io.gfile.GFile(file, "rb") as start:
        return "GZIP" if start.read(2) == b"\x1f\x8b" else ""


@contextlib.contextmanager
def damage_named(files: list[str]) -> Iterator[None]:
    """Says in a sentence which record TensorFlow could not read or parse."""
    try:
        yield
    except tf.errors.DataLossError as error:
        for file in files:
            if not _is_sound(file):
                number = 1 + _count(records_of(file).ignore_errors())
                raise InputError(
                    f"{file} is damaged or cut off at record {number}; copy "
                    "the file or create the data anew. With "
                    "skip_corrupt_records, damaged records are left out and "
                    "counted."
                ) from error
        raise
    except tf.errors.InvalidArgumentError as error:
        if "ParseExample" in error.message:
            for file in files:
                number = _first_unlike(file)
                if number:
                    raise InputError(
                        f"Record {number} of {file} is not like the first one "
                        "of the file; create the data anew, of one "
                        "max_seq_length and max_predictions_per_seq."
                    ) from error
        raise


def without_damage(file: str) -> str | None:
    """Reads a file through; returns it, or a copy without damaged records.

    The copy is in memory, and a warning says how many records it lacks, and
    which. Behind the damage of a compressed file, and behind one that hides
    where the next record begins, none is found: another warning says so.
    Returns None where nothing is left.
    """
    if _is_sound(file):
        return file
    copy = _in_memory(os.path.abspath(file))
    with tf.io.TFRecordWriter(copy) as writer:
        num_kept, damaged, lost = _copy(file, writer)
    numbers = ", ".join(map(str, damaged[:10]))
    logging.warning(
        "%s: %d damaged records are left out (number %s), %d are read.",
        file,
        len(damaged),
        numbers + ", ..." if len(damaged) > 10 else numbers,
        num_kept,
    )
    if lost:
        logging.warning(
            "%s: behind record %d, no other is found%s.",
            file,
            damaged[-1],
            lost,
        )
    return copy if num_kept else None


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
    """The lengths of the features; None where it is no tf.train.Example."""
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        return None
    if set(features) == set(STRETCH_FEATURES):
        return set(features)  # whose lengths are their own
    return {
        name: (len(feature.int64_list.value), len(feature.float_list.value))
        for name, feature in features.items()
    }


def _copy(file, writer):
    """Copies the sound records it finds.

    Returns how many, the numbers of the damaged ones, and, where others may
    be lost behind the last of these, in what.
    """
    num_kept, damaged = 0, []
    with open(file, "rb") as whole:
        rest = whole.read()
    stretch = file
    while True:
        num_records = 0
        for record in records_of(stretch).ignore_errors():
            writer.write(record.numpy())
            num_records += 1
        num_kept += num_records
        if _is_sound(stretch):
            return num_kept, damaged, None
        damaged.append(num_kept + len(damaged) + 1)
        if compression(file):
            return num_kept, damaged, ": the file is compressed"
        begin = 0
        for _ in range(num_records):
            begin = _end_of_record(rest, begin)
        end = _end_of_record(rest, begin)
        if end is None:
            lost = f" in {len(rest) - begin} bytes"
            return num_kept, damaged, lost
        rest = rest[end:]
        stretch = _in_memory("rest")
        with tf.io.gfile.GFile(stretch, "wb") as target:
            target.write(rest)


def _in_memory(name):
    file = f"ram://without_damage/{name}"
    if tf.io.gfile.exists(file):
        tf.io.gfile.remove(file)  # else it would be appended to
    return file


def _end_of_record(content, begin):
    """None where the length itself is damaged or cut off."""
    header = content[begin : begin + _HEADER.size]
    if len(header) < _HEADER.size:
        return None
    length, checksum = _HEADER.unpack(header)
    if masked_crc32c(header[:8]) != checksum:
        return None
    return begin + _HEADER.size + length + 4


def _is_sound(file):
    try:
        _count(records_of(file))
    except tf.errors.DataLossError:
        return False
    return True


def _count(dataset):
    return int(dataset.reduce(0, lambda number, _: number + 1))
