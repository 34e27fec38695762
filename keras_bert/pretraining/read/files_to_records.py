"""Files of pre-training records -> batches, under Google's feature names."""

from __future__ import annotations

import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from keras_bert.errors import InputError
from keras_bert.pretraining.read.damage import (
    compression,
    records_of,
    without_damage,
)
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.pretraining.write.config import V2_NAMES
from keras_bert.pretraining.write.ids_to_stretches import (
    FEATURES as STRETCH_FEATURES,
)


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
    """Reads batches of int32 features [batch_size, size] and float32 weights.

    The files may be compressed. Their features may have Google's or Model
    Garden's names; the batches have Google's.

    With a `shuffle_seed`, the records repeat without end, each epoch in
    another order, and every batch is full. Without it, the dataset has each
    record once, in order, and knows its size. It starts at `first_batch`
    without parsing the batches before.

    Records made with `dynamic_masking` need a `drawer`, which draws other pairs
    and masks in each epoch. They depend on its seed, the epoch and the record.

    With `skip_corrupt_records`, all files are read once before the first
    batch, and damaged records are left out; see `without_damage`.

    Raises:
        InputError: A file is not a TFRecord file, all files are empty, or the
            first record of a file does not have the lengths asked for.
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
    for file in files:
        if tf.io.gfile.isdir(file):
            raise InputError(
                f"{file} is a folder; give the files in it, such as {file}/*."
            )
    if skip_corrupt_records:
        files = [f for f in map(without_damage, files) if f]
    first_records = {file: _first_record(file) for file in files}
    files = [file for file in files if first_records[file] is not None]
    if not files:
        raise InputError("No file holds a sound record; create the data again.")
    first = first_records[files[0]]
    is_dynamic = set(first) == set(STRETCH_FEATURES)
    if is_dynamic and not drawer:
        raise InputError(
            f"{files[0]} holds records without masks (dynamic_masking); give "
            "the vocab_file, so that masks can be drawn."
        )
    is_v2 = V2_NAMES["input_ids"] in first
    names = {n: V2_NAMES.get(n, n) if is_v2 else n for n in sizes}
    for file in files:
        _check_lengths(
            file,
            first_records[file],
            {"target_length": 1}
            if is_dynamic
            else {names[name]: size for name, size in sizes.items()},
        )
    if is_dynamic:
        _warn_of_another_length(files[0], seq_length)
    dataset = _numbered(_read_serialized(files), shuffle_seed)
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
    """Records -> (record, epoch, number of the record in the files)."""

    def epoch(number, shuffled=True):
        dataset = records.enumerate()
        if shuffled:
            dataset = dataset.shuffle(
                100_000, shuffle_seed + number, reshuffle_each_iteration=False
            )
        return dataset.map(lambda i, record: (record, number, i))

    if shuffle_seed is not None:
        return tf.data.Dataset.range(2**40).flat_map(epoch)
    # Keras warns if data of unknown length ends.
    num_records = records.reduce(0, lambda count, _: count + 1)
    return epoch(tf.constant(0, tf.int64), shuffled=False).apply(
        tf.data.experimental.assert_cardinality(int(num_records))
    )


def _first_record(file):
    try:
        first = next(iter(records_of(file).take(1)), None)
    except tf.errors.DataLossError as error:
        raise InputError(
            f"{file} is not a TFRecord file, or is damaged; make it with "
            "run_scripts/create_pretraining_data.py."
        ) from error
    if first is None:
        logging.warning("%s holds no record and is left out.", file)
        return None
    try:
        return tf.train.Example.FromString(first.numpy()).features.feature
    except DecodeError as error:
        raise InputError(
            f"The first record of {file} is not a tf.train.Example; make the "
            "file with run_scripts/create_pretraining_data.py."
        ) from error


def _read_serialized(files):
    """Returns the bytes of the records, in the order of the files."""
    dataset = tf.data.Dataset.from_tensor_slices(
        (files, [compression(file) for file in files])
    )
    return dataset.flat_map(tf.data.TFRecordDataset)


def _check_lengths(file, features, expected):
    for name, size in expected.items():
        feature = features[name]
        found = len(feature.int64_list.value) or len(feature.float_list.value)
        if found != size:
            raise InputError(
                f"{file} has {name} of length {found}, but the model "
                f"reads length {size}; set max_seq_length and "
                "max_predictions_per_seq to those of the records, or create "
                "the records again."
            )


def _warn_of_another_length(file, seq_length):
    """Only warns, because records without masks can be read at any length."""
    target_lengths = tf.io.parse_example(
        next(iter(records_of(file).batch(100))),
        {"target_length": tf.io.FixedLenFeature([1], tf.int64)},
    )["target_length"]
    made_for = 3 + int(tf.reduce_max(target_lengths))
    if made_for != seq_length:
        logging.warning(
            "The records of %s seem to be made for a max_seq_length of %d, but "
            "are read with %d: longer pairs lose tokens, and shorter pairs are "
            "padded.",
            file,
            made_for,
            seq_length,
        )
