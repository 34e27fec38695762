"""Files of pre-training records -> batches, under Google's feature names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from keras_bert.errors import InputError
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.pretraining.read.weighted_files import WeightedFiles
from keras_bert.pretraining.records.background import in_background
from keras_bert.pretraining.records.files import RecordFiles
from keras_bert.pretraining.records.order import ShuffledOrder
from keras_bert.pretraining.write.config import V2_NAMES
from keras_bert.pretraining.write.ids_to_stretches import (
    FEATURES as STRETCH_FEATURES,
)
from keras_bert.training.share import WHOLE, Share


class PretrainingRecords:
    """Records of `create_pretraining_data`, or of Google's own scripts.

    The files may be compressed. Their features may have Google's or Model
    Garden's names; the batches have Google's.
    """

    def __init__(
        self,
        corpora: Sequence[WeightedFiles],
        *,
        max_seq_length: int,
        max_predictions_per_seq: int,
        drawer: InstanceDrawer | None = None,
        skip_corrupt_records: bool = False,
    ):
        """Opens the files and checks the first record of each.

        Records made with `dynamic_masking` need a `drawer`, which draws other
        pairs and masks in each epoch. They depend on its seed, the epoch and
        the record.

        With `skip_corrupt_records`, all files are read once, and damaged
        records are left out with a warning.

        Raises:
            InputError: A file is not a TFRecord file, all files of a corpus
                are empty, or the first record of a file does not have the
                lengths asked for.
        """
        if not corpora:
            raise InputError("There is no file of records; give at least one.")
        self._sizes = {
            "input_ids": max_seq_length,
            "input_mask": max_seq_length,
            "segment_ids": max_seq_length,
            "masked_lm_positions": max_predictions_per_seq,
            "masked_lm_ids": max_predictions_per_seq,
            "masked_lm_weights": max_predictions_per_seq,
            "next_sentence_labels": 1,
        }
        self._names_of_files = [
            file for corpus in corpora for file in corpus.files
        ]
        self._files = RecordFiles(
            self._names_of_files, skip_damaged=skip_corrupt_records
        )
        self._counts, self._weights = [], []
        numbers = iter(self._files.numbers)
        for files, weight in corpora:
            count = sum(len(next(numbers)) for _ in files)
            if not count:
                raise InputError(
                    f"There is no sound record in {', '.join(files)}; create "
                    "the data again."
                )
            self._counts.append(count)
            self._weights.append(count if weight is None else weight)
        self._drawer = None
        first_records = self._first_records()
        first_file, first = next(iter(first_records.items()))
        is_dynamic = set(first) == set(STRETCH_FEATURES)
        if is_dynamic and not drawer:
            raise InputError(
                f"{first_file} holds records without masks (dynamic_masking); "
                "give the vocab_file, so that masks can be drawn."
            )
        is_v2 = V2_NAMES["input_ids"] in first
        self._names = {
            n: V2_NAMES.get(n, n) if is_v2 else n for n in self._sizes
        }
        for file, record in first_records.items():
            _check_lengths(
                file,
                record,
                {"target_length": 1}
                if is_dynamic
                else {self._names[n]: size for n, size in self._sizes.items()},
            )
        if is_dynamic:
            self._drawer = drawer
            self._warn_of_another_length(first_file)

    def batches(
        self,
        batch_size: int,
        share: Share = WHOLE,
        *,
        shuffle_seed: int | None = None,
        first_batch: int = 0,
    ) -> tf.data.Dataset:
        """Returns batches of int32 features [rows, size] and float32 weights.

        With a `shuffle_seed`, the records repeat without end, each epoch in
        another order, and every batch is full; see `ShuffledOrder`. Without
        it, the dataset has each record once, in order, and knows its size.

        It starts at `first_batch` without reading the batches before, and
        reads only the `share` of this worker in the rows of each batch.
        """
        num_records = sum(self._counts)
        if shuffle_seed is None:
            order, num_batches = None, -(-num_records // batch_size)
        else:
            num_batches = 2**40  # more than any run takes
            order = ShuffledOrder(
                self._counts, self._weights, seed=shuffle_seed
            )

        def read(batch):
            size = batch_size
            if order is None:
                size = min(size, num_records - batch * batch_size)
            rows = share.rows(size)
            numbers = batch * batch_size + np.arange(rows.start, rows.stop)
            epochs = np.zeros_like(numbers)
            if order is not None:
                numbers, epochs = order(numbers)
            return np.array(self._files.read(numbers), object), epochs, numbers

        read_in_background = in_background(
            read, [tf.string, tf.int64, tf.int64]
        )

        def read_and_parse(batch):
            serialized, epochs, numbers = read_in_background(batch)
            num_rows = len(share.rows(batch_size)) if order else None
            for values in (serialized, epochs, numbers):
                values.set_shape([num_rows])
            return self._parse(serialized, epochs, numbers)

        dataset = tf.data.Dataset.range(first_batch, num_batches)
        return dataset.map(read_and_parse, tf.data.AUTOTUNE)

    @contextlib.contextmanager
    def errors_named(self) -> Iterator[None]:
        """Raises InputError in place of TensorFlow's error about a record."""
        try:
            yield
        except tf.errors.InvalidArgumentError as error:
            _, of_reading, message = error.message.partition("InputError: ")
            if of_reading:
                raise InputError(message.partition("\n")[0]) from error
            is_of_parsing = "ParseExample" in error.message
            name = self._unlike_record() if is_of_parsing else None
            if name is None:
                raise
            raise InputError(
                f"{name} is not like the first one of the file; create the "
                "data again with one max_seq_length and "
                "max_predictions_per_seq."
            ) from error

    def _parse(self, serialized, epochs, numbers):
        if self._drawer:
            return self._drawer(serialized, epochs, numbers)
        expected = {
            self._names[name]: tf.io.FixedLenFeature(
                [size],
                tf.float32 if name == "masked_lm_weights" else tf.int64,
            )
            for name, size in self._sizes.items()
        }
        features = tf.io.parse_example(serialized, expected)
        return {
            name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
            for name in self._sizes
            for value in (features[self._names[name]],)
        }

    def _first_records(self):
        """Returns the features of the first record of each file that has one.

        Warns of the other files.
        """
        records = {}
        for file, numbers in self._numbers_by_file():
            if not numbers:
                logging.warning("%s holds no record and is left out.", file)
                continue
            records[file] = _features(*self._files.read(numbers[:1]))
            if records[file] is None:
                raise InputError(
                    f"The first record of {file} is not a tf.train.Example; "
                    "make the file with "
                    "keras-bert create-pretraining-data."
                )
        return records

    def _unlike_record(self):
        """Returns the name of the first record unlike the first of its file.

        Its features are others, or have other lengths. Returns None if there
        is no such record.
        """
        for file, numbers in self._numbers_by_file():
            first = None
            for i, number in enumerate(numbers, 1):
                lengths = _lengths(_features(*self._files.read([number])))
                first = first or lengths
                if lengths != first:
                    return f"Record {i} of {file}"
        return None

    def _numbers_by_file(self):
        return zip(self._names_of_files, self._files.numbers, strict=True)

    def _warn_of_another_length(self, file):
        """Only warns, because records without masks can have any length."""
        num_records = min(100, sum(self._counts))
        target_lengths = tf.io.parse_example(
            self._files.read(range(num_records)),
            {"target_length": tf.io.FixedLenFeature([1], tf.int64)},
        )["target_length"]
        made_for = 3 + int(tf.reduce_max(target_lengths))
        if made_for != self._sizes["input_ids"]:
            logging.warning(
                "The records of %s seem to be made for a max_seq_length of "
                "%d, but are read with %d: longer pairs lose tokens, and "
                "shorter pairs are padded.",
                file,
                made_for,
                self._sizes["input_ids"],
            )


def _features(data):
    """Returns the features of a record; None if it is not an Example."""
    try:
        return tf.train.Example.FromString(data).features.feature
    except DecodeError:
        return None


def _lengths(features):
    """Returns the lengths of the features; None if there are none."""
    if features is None:
        return None
    if set(features) == set(STRETCH_FEATURES):
        return set(features)  # their lengths differ from record to record
    return {
        name: (len(feature.int64_list.value), len(feature.float_list.value))
        for name, feature in features.items()
    }


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
