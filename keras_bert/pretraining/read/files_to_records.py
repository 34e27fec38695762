"""Files of pre-training records -> batches, under Google's feature names."""

import atexit
import contextlib
import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs
from keras_bert.io.paths import to_path
from keras_bert.pretraining.read.pairs_to_batches import WRONG_VALUE
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.pretraining.records import RecordFiles, ShuffledOrder
from keras_bert.pretraining.write.config import STRETCH_NAMES, V2_NAMES, digest
from keras_bert.training.distribution import WHOLE, BatchShard


class PretrainingRecords:
    """Records from `create_pretraining_data`, or from Google's own scripts.

    The files may be compressed. Their features may have Google's or Model
    Garden's names; the features of the batches have Google's names.

    Attributes:
        have_masks: Whether the records contain masks; if not, masks are drawn.
    """

    def __init__(
        self,
        files: Sequence[str],
        *,
        max_seq_length: int,
        max_predictions_per_seq: int,
        drawer: InstanceDrawer | None = None,
    ):
        """Opens the files and checks the first record of each.

        Records made with `dynamic_masking` need a `drawer`, which draws new
        pairs and masks in each epoch. The pairs and masks depend only on the
        seed of the drawer, the epoch and the record.

        Raises:
            InputError: If a file is not a TFRecord file, if all files are
                empty, or if the first record of a file has lengths other than
                `max_seq_length` and `max_predictions_per_seq`.
        """
        if not files:
            raise InputError("There is no file of records; give at least one.")
        self._files = RecordFiles(files)
        self._numbers = dict(zip(files, self._files.numbers, strict=True))
        self._num_records = sum(map(len, self._files.numbers))
        if not self._num_records:
            raise InputError(
                f"There is no record in {', '.join(files)}; create the data "
                "again."
            )
        first_records = {
            file: self._features(file, numbers[0])
            for file, numbers in self._numbers.items()
            if numbers
        }
        first_file, first = next(iter(first_records.items()))
        self.have_masks = set(first) != set(STRETCH_NAMES)
        self._drawer = None if self.have_masks else drawer
        # The sizes of the features, keyed by the features' names in the files.
        self._sizes = {
            "input_ids": max_seq_length,
            "input_mask": max_seq_length,
            "segment_ids": max_seq_length,
            "masked_lm_positions": max_predictions_per_seq,
            "masked_lm_ids": max_predictions_per_seq,
            "masked_lm_weights": max_predictions_per_seq,
            "next_sentence_labels": 1,
        }
        if not self.have_masks:
            if not drawer:
                raise InputError(
                    f"{first_file} contains records without masks "
                    "(dynamic_masking); give the vocab_file, so that masks can "
                    "be drawn."
                )
            self._sizes = {"target_length": 1}
        elif V2_NAMES["input_ids"] in first:
            self._sizes = {
                V2_NAMES.get(name, name): size
                for name, size in self._sizes.items()
            }
        for file, features in first_records.items():
            self._check(features, file)
        for file, settings in settings_of_records(files):
            made_for = settings.get("max_seq_length", max_seq_length)
            if self._drawer and made_for != max_seq_length:
                logging.warning(
                    f"The records of {file} were made for a max_seq_length "
                    f"of {made_for}, but are read with {max_seq_length}: "
                    "longer pairs lose tokens, and shorter pairs are padded."
                )

    def batches(
        self,
        batch_size: int,
        share: BatchShard = WHOLE,
        *,
        shuffle_seed: int | None = None,
        first_batch: int = 0,
    ) -> tf.data.Dataset:
        """Returns batches of int32 features [rows, size] and float32 weights.

        With a `shuffle_seed`, the records repeat without end, each epoch in a
        new order, and every batch is full; see `ShuffledOrder`. Without a
        seed, the dataset has each record once, in order, and knows its size.

        The dataset starts at `first_batch` without reading earlier batches. Of
        each batch, it reads only the rows that `share` assigns to this worker.
        """
        num_records = self._num_records
        num_batches, num_rows = -(-num_records // batch_size), None
        order = None
        if shuffle_seed is not None:
            num_batches = 2**40  # more than any run takes
            num_rows = len(share.rows(batch_size))
            order = ShuffledOrder(num_records, seed=shuffle_seed)

        def read(batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            _count_call()
            begin = batch * batch_size
            left = batch_size if order else num_records - begin
            rows = share.rows(min(batch_size, left))
            numbers = begin + np.arange(rows.start, rows.stop)
            epochs = np.zeros_like(numbers)
            if order:
                numbers, epochs = order(numbers)
            return np.array(self._files.read(numbers), object), epochs, numbers

        def read_and_parse(batch: tf.Tensor) -> dict[str, tf.Tensor]:
            dtypes = [tf.string, tf.int64, tf.int64]
            rows = tf.numpy_function(read, [batch], dtypes, stateful=False)
            for values in rows:
                values.set_shape([num_rows])
            if self._drawer:
                return self._drawer(*rows)
            specs, features = {}, {}
            for name, size in self._sizes.items():
                dtype = tf.float32 if "weights" in name else tf.int64
                specs[name] = tf.io.FixedLenFeature([size], dtype)
            google = {v2: name for name, v2 in V2_NAMES.items()}
            for name, x in tf.io.parse_example(rows[0], specs).items():
                x = tf.cast(x, tf.int32) if x.dtype == tf.int64 else x
                features[google.get(name, name)] = x
            return features

        dataset = tf.data.Dataset.range(first_batch, num_batches)
        return dataset.map(read_and_parse, tf.data.AUTOTUNE)

    @contextlib.contextmanager
    def errors_named(self, vocab_size: int) -> Iterator[None]:
        """Raises InputError instead of TensorFlow's error about a record.

        Also raises InputError if a value is wrong, such as an id that is not
        below `vocab_size`; see `pretraining_batches`.
        """
        try:
            yield
        except tf.errors.InvalidArgumentError as error:
            _, of_reading, message = error.message.partition("InputError: ")
            if of_reading:
                raise InputError(message.partition("\n")[0]) from error
            pattern = WRONG_VALUE + r"\] \[(\w+)\] \[(\d+)\] \[(-?\d+)"
            if wrong := re.search(pattern, error.message):
                name, limit, value = wrong.groups()
                raise InputError(
                    f"A record contains the token id {value}, but the "
                    f"vocab_size of the model is {vocab_size}; create the "
                    "records with the vocabulary of the model."
                    if name in ("input_ids", "masked_lm_ids")
                    else f"A record has {value} among its {name}, but the "
                    f"model reads numbers from 0 to {int(limit) - 1}; create "
                    "the records again."
                ) from error
            if "ParseExample" in error.message:
                for file, numbers in self._numbers.items():
                    for place, number in enumerate(numbers, 1):
                        features = self._features(file, number)
                        self._check(features, f"Record {place} of {file}")
            raise

    def _features(self, file: str, number: int) -> Mapping[str, Any]:
        try:
            (data,) = self._files.read([number])
            return tf.train.Example.FromString(data).features.feature
        except DecodeError as error:
            place = number - self._numbers[file].start + 1
            raise InputError(
                f"Record {place} of {file} is not a tf.train.Example; make the "
                "file with keras-bert create-pretraining-data."
            ) from error

    def _check(self, features: Mapping[str, Any], name_of_record: str) -> None:
        """Raises InputError if features do not have the lengths in `_sizes`."""
        for name, size in self._sizes.items():
            kind = "float_list" if "weights" in name else "int64_list"
            length = len(getattr(features[name], kind).value)
            if not length:
                raise InputError(
                    f"{name_of_record} has no {kind} {name}; create the "
                    "records again, all with the same settings."
                )
            if length != size:
                raise InputError(
                    f"{name_of_record} has {name} of length {length}, but the "
                    f"model reads length {size}; set max_seq_length and "
                    "max_predictions_per_seq as in the records, or "
                    "create the records again."
                )


def find_files(
    input_files: str | Path | Sequence[str | Path] | None,
) -> list[str]:
    """Returns file names from a list, or from comma-separated names and globs.

    For None and "", the result is empty. Raises FileNotFoundError if a glob
    matches no file.
    """
    if not input_files:
        return []
    if isinstance(input_files, (str, Path)):
        return expand_globs(input_files)
    return [str(file) for file in input_files]


def settings_of_records(
    files: Iterable[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each file that has a `.json`, and the settings in the `.json`.

    Raises InputError if the `.json` does not describe records.
    """
    for file in files:
        description = to_path(f"{file}.json")
        if not description.is_file():
            continue
        try:
            settings = {**json.loads(description.read_bytes())["settings"]}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{description} does not describe the records of {file}; move "
                "it away, or make the records again."
            ) from error
        yield file, settings


def check_vocab_of_records(
    files: Iterable[str], vocab: Sequence[str], vocab_file: str | Path
) -> None:
    """Raises InputError if records were made with another vocabulary."""
    expected = digest("\n".join(vocab))
    for file, settings in settings_of_records(files):
        if settings.get("vocab", expected) != expected:
            raise InputError(
                f"{file} was made with a vocabulary other than {vocab_file}; "
                "create the records again with this vocabulary, or give the "
                "vocabulary they were made with."
            )


# tf.data calls Python in the background, before the results are asked for. A
# call that begins when Python has ended never returns. The deletion of the
# dataset waits for the call, so the process hangs (TensorFlow 2.21). Therefore
# all calls end before Python does.
_calls = itertools.count()
_is_ending = False


def _count_call() -> None:
    next(_calls)
    if _is_ending:
        raise InterruptedError("Python is ending.")


@atexit.register
def _end_calls() -> None:
    """Makes later calls by tf.data fail, and waits for earlier calls to end."""
    global _is_ending
    _is_ending = True
    before = -1
    # Each round of this loop adds 1 to the count itself.
    while before + 1 != (before := next(_calls)):
        time.sleep(0.05)
