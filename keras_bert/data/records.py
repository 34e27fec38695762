"""TFRecords of pre-training examples, under Google's feature names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_bert.atomic import atomic_path


def pretraining_features(
    seq_length: int, max_predictions_per_seq: int
) -> dict[str, tf.io.FixedLenFeature]:
    """What one record holds: int64, and float32 `masked_lm_weights`."""
    sizes = {
        "input_ids": seq_length,
        "input_mask": seq_length,
        "segment_ids": seq_length,
        "masked_lm_positions": max_predictions_per_seq,
        "masked_lm_ids": max_predictions_per_seq,
        "masked_lm_weights": max_predictions_per_seq,
        "next_sentence_labels": 1,
    }
    return {
        name: tf.io.FixedLenFeature(
            [size],
            tf.float32 if name == "masked_lm_weights" else tf.int64,
        )
        for name, size in sizes.items()
    }


def write_records(
    files: list[str | Path], batches: Iterable[dict[str, np.ndarray]]
) -> int:
    """Writes rows of batches to the files in turn; returns their number.

    The files appear only when all are whole.
    """
    num_records = 0
    with contextlib.ExitStack() as stack:
        paths = [stack.enter_context(atomic_path(file)) for file in files]
        with contextlib.ExitStack() as open_files:
            writers = [
                open_files.enter_context(tf.io.TFRecordWriter(str(path)))
                for path in paths
            ]
            for batch in batches:
                for row in zip(*batch.values(), strict=True):
                    example = _example(dict(zip(batch, row, strict=True)))
                    writer = writers[num_records % len(writers)]
                    writer.write(example.SerializeToString())
                    num_records += 1
    return num_records


def read_pretraining_records(
    files: list[str],
    *,
    seq_length: int,
    max_predictions_per_seq: int,
    batch_size: int,
    shuffle_seed: int | None = None,
) -> tf.data.Dataset:
    """Reads batches of int32 features [batch_size, size] and float weights.

    With a `shuffle_seed`, the records come for ever, in another order each
    time, and every batch is full; without, once, in order, and counted.

    Raises:
        ValueError: Where a file is no TFRecord, is empty, or its first record
            has other lengths than asked for.
    """
    expected = pretraining_features(seq_length, max_predictions_per_seq)
    for file in files:
        _check_first_record(file, expected)
    dataset = tf.data.TFRecordDataset(files)
    if shuffle_seed is not None:
        dataset = dataset.shuffle(100_000, seed=shuffle_seed).repeat()
    else:
        # Keras warns when data of unknown length comes to its end.
        num_records = dataset.reduce(0, lambda count, _: count + 1)
        dataset = dataset.apply(
            tf.data.experimental.assert_cardinality(int(num_records))
        )
    dataset = dataset.batch(batch_size, drop_remainder=shuffle_seed is not None)

    def parse(serialized):
        features = tf.io.parse_example(serialized, expected)
        return {
            name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
            for name, value in features.items()
        }

    return dataset.map(parse, tf.data.AUTOTUNE)


@contextlib.contextmanager
def damage_named(files: list[str]) -> Iterator[None]:
    """Says in a sentence what reading a damaged record raises in TensorFlow."""
    try:
        yield
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"A record of {', '.join(files)} is damaged or cut off; copy the "
            "file or create the data anew."
        ) from error


def _example(features):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(
                    float_list=tf.train.FloatList(value=value.tolist())
                )
                if value.dtype == np.float32
                else tf.train.Feature(
                    int64_list=tf.train.Int64List(value=value.tolist())
                )
                for name, value in features.items()
            }
        )
    )


def _check_first_record(file, expected):
    try:
        first = next(iter(tf.data.TFRecordDataset(file).take(1)), None)
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"{file} is not a TFRecord file, or is damaged; make it with "
            "run_scripts/create_pretraining_data.py."
        ) from error
    if first is None:
        raise ValueError(f"{file} holds no record; create the data anew.")
    features = tf.train.Example.FromString(first.numpy()).features.feature
    for name, spec in expected.items():
        feature = features[name]
        found = len(feature.int64_list.value) or len(feature.float_list.value)
        if found != spec.shape[0]:
            raise ValueError(
                f"{file} has {name} of length {found}, but the model is to "
                f"read length {spec.shape[0]}; set max_seq_length and "
                "max_predictions_per_seq to those of the records, or create "
                "the records anew."
            )
