"""TFRecords of pre-training examples, under Google's feature names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf
from absl import logging

from keras_bert.data.dynamic import InstanceDrawer
from keras_bert.data.stretches import FEATURES as STRETCH_FEATURES

# Names in google-research/bert -> those in tensorflow/models, official/nlp.
V2_NAMES = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}


def read_pretraining_records(
    files: list[str],
    *,
    seq_length: int,
    max_predictions_per_seq: int,
    batch_size: int,
    shuffle_seed: int | None = None,
    first_batch: int = 0,
    drawer: InstanceDrawer | None = None,
    skip_corrupt_records: bool = False,
) -> tf.data.Dataset:
    """Reads batches of int32 features [batch_size, size] and float weights.

    Files may be compressed, and have Google's or Model Garden's names; the
    features come under Google's. With a `shuffle_seed`, the records come for
    ever, in another order each time, and every batch is full; without, once,
    in order, and counted. The batches before `first_batch` are left out
    without being parsed.

    Records made with `dynamic_masking` need a `drawer`. It draws other pairs
    and masks in each epoch, and the same ones for the same seed, epoch and
    record.

    With `skip_corrupt_records`, all files are read through before, and one
    with a damaged record ends there: TensorFlow finds none behind it. A
    warning names it.

    Raises:
        ValueError: Where a file is no TFRecord, is empty, or its first record
            has other lengths than asked for.
    """
    sizes = {
        "input_ids": seq_length,
        "input_mask": seq_length,
        "segment_ids": seq_length,
        "masked_lm_positions": max_predictions_per_seq,
        "masked_lm_ids": max_predictions_per_seq,
        "masked_lm_weights": max_predictions_per_seq,
        "next_sentence_labels": 1,
    }
    first = _first_record(files[0])
    is_dynamic = set(first) == set(STRETCH_FEATURES)
    if is_dynamic and not drawer:
        raise ValueError(
            f"{files[0]} holds records without masks (dynamic_masking); give "
            "the vocab_file, so that masks can be drawn."
        )
    is_v2 = V2_NAMES["input_ids"] in first
    names = {n: V2_NAMES.get(n, n) if is_v2 else n for n in sizes}
    for file in files:
        _check_first_record(
            file,
            {"target_length": 1}
            if is_dynamic
            else {names[name]: size for name, size in sizes.items()},
        )
    dataset = _numbered(
        read_serialized(files, skip_corrupt_records=skip_corrupt_records),
        shuffle_seed,
    )
    dataset = dataset.batch(batch_size, drop_remainder=shuffle_seed is not None)
    dataset = dataset.skip(first_batch)
    expected = {
        names[name]: tf.io.FixedLenFeature(
            [size], tf.float32 if name == "masked_lm_weights" else tf.int64
        )
        for name, size in sizes.items()
    }

    def parse(serialized, epochs, records):
        if is_dynamic:
            return drawer(serialized, epochs, records)
        features = tf.io.parse_example(serialized, expected)
        features = {name: features[names[name]] for name in sizes}
        return {
            name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
            for name, value in features.items()
        }

    return dataset.map(parse, tf.data.AUTOTUNE)


def _numbered(records, shuffle_seed):
    """Records -> (record, epoch, its number in the files)."""

    def epoch(number, shuffled=True):
        dataset = records.enumerate()
        if shuffled:
            dataset = dataset.shuffle(
                100_000, shuffle_seed + number, reshuffle_each_iteration=False
            )
        return dataset.map(lambda i, record: (record, number, i))

    if shuffle_seed is not None:
        return tf.data.Dataset.range(2**40).flat_map(epoch)
    # Keras warns when data of unknown length comes to its end.
    num_records = records.reduce(0, lambda count, _: count + 1)
    return epoch(tf.constant(0, tf.int64), shuffled=False).apply(
        tf.data.experimental.assert_cardinality(int(num_records))
    )


def read_serialized(
    files: list[str], *, skip_corrupt_records: bool = False
) -> tf.data.Dataset:
    """Reads the bytes of the records, in the order of the files."""
    counts = [
        _num_sound_records(file) if skip_corrupt_records else -1
        for file in files
    ]
    dataset = tf.data.Dataset.from_tensor_slices(
        (
            files,
            [_compression(file) for file in files],
            tf.constant(counts, tf.int64),
        )
    )
    return dataset.flat_map(
        lambda file, compression, count: tf.data.TFRecordDataset(
            file, compression
        ).take(count)
    )


@contextlib.contextmanager
def damage_named(files: list[str]) -> Iterator[None]:
    """Says in a sentence which record TensorFlow could not read."""
    try:
        yield
    except tf.errors.DataLossError as error:
        for file in files:
            if number := _first_damaged_record(file):
                raise ValueError(
                    f"{file} is damaged or cut off at record {number}; copy "
                    "the file or create the data anew. With "
                    "skip_corrupt_records, the records before it are used."
                ) from error
        raise


def _compression(file):
    with open(file, "rb") as start:
        return "GZIP" if start.read(2) == b"\x1f\x8b" else ""


def _count(dataset):
    return int(dataset.reduce(0, lambda count, _: count + 1))


def _first_damaged_record(file):
    """Counts from 1; 0 where all are sound."""
    dataset = tf.data.TFRecordDataset(file, _compression(file))
    try:
        _count(dataset)
    except tf.errors.DataLossError:
        return _count(dataset.ignore_errors()) + 1
    return 0


def _num_sound_records(file):
    """-1 where all are."""
    damaged = _first_damaged_record(file)
    if damaged:
        logging.warning(
            "%s is damaged at record %d; it is left out with all behind it.",
            file,
            damaged,
        )
    return damaged - 1


def _first_record(file):
    dataset = tf.data.TFRecordDataset(file, _compression(file))
    try:
        first = next(iter(dataset.take(1)), None)
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"{file} is not a TFRecord file, or is damaged; make it with "
            "run_scripts/create_pretraining_data.py."
        ) from error
    if first is None:
        raise ValueError(f"{file} holds no record; create the data anew.")
    return tf.train.Example.FromString(first.numpy()).features.feature


def _check_first_record(file, expected):
    features = _first_record(file)
    for name, size in expected.items():
        feature = features[name]
        found = len(feature.int64_list.value) or len(feature.float_list.value)
        if found != size:
            raise ValueError(
                f"{file} has {name} of length {found}, but the model is to "
                f"read length {size}; set max_seq_length and "
                "max_predictions_per_seq to those of the records, or create "
                "the records anew."
            )
