"""What each of many workers reads, through the reader that a run has."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from fsspec.implementations.memory import MemoryFileSystem
from read_records import random_features

from keras_bert.io.paths import to_path
from keras_bert.pretraining.read.files_to_records import PretrainingRecords
from keras_bert.pretraining.read.pairs_to_batches import pretraining_batches
from keras_bert.pretraining.records import ShuffledOrder
from keras_bert.pretraining.write.arrays_to_records import serialize_examples
from keras_bert.training.distribution import distribute

S, P, V = 11, 3, 200_000
NUM_RECORDS = 103
BATCH_SIZE = 150  # more than an epoch, and not a multiple of the workers
FIRST_STEP, NUM_STEPS = 3, 4
SEED = 5
_CHECKSUM_SIZE = 4  # is read with each record


def _write(examples, tmp_path, place):
    """Writes two files to the disk or to a store; returns their names."""
    is_remote = place == "store"
    folder = to_path(f"memory://{tmp_path.name}") if is_remote else tmp_path
    names = []
    for name, part in (("a", examples[:70]), ("b", examples[70:])):
        with tf.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for example in part:
                writer.write(example)
        content = (tmp_path / name).read_bytes()
        (folder / name).write_bytes(content)
        names.append(str(folder / name))
    return names


@pytest.fixture
def sizes_read(monkeypatch):
    """Gets the size of each read of a record, from the disk or the store."""
    sizes = []
    read_disk, read_store = os.pread, MemoryFileSystem.cat_ranges

    def pread(file, size, begin):
        sizes.append(size)
        return read_disk(file, size, begin)

    def cat_ranges(store, paths, starts, ends, **options):
        sizes.extend(np.subtract(ends, starts).tolist())
        return read_store(store, paths, starts, ends, **options)

    monkeypatch.setattr(os, "pread", pread)
    monkeypatch.setattr(MemoryFileSystem, "cat_ranges", cat_ranges)
    # Without reading ahead, only the steps that a test takes are read.
    monkeypatch.setattr(tf.data, "AUTOTUNE", None)
    monkeypatch.setattr(tf.data.Dataset, "prefetch", lambda dataset, _: dataset)
    return sizes


def _batches_of_worker(records, worker, num_workers, num_devices):
    """Returns the batches that `train` gives to the devices of a worker."""
    context = tf.distribute.InputContext(num_workers, worker)
    strategy = SimpleNamespace(
        num_replicas_in_sync=num_workers * num_devices,
        distribute_datasets_from_function=lambda function: function(context),
    )

    def batches(share):
        features = records.batches(
            BATCH_SIZE, share, shuffle_seed=SEED, first_batch=FIRST_STEP
        )
        return pretraining_batches(
            features, vocab_size=V, outputs=("masked_lm",), packed=False
        )

    return distribute(strategy, batches)


@pytest.mark.parametrize(
    ("place", "num_workers", "num_devices"),
    [
        pytest.param("disk", 64, 1, marks=pytest.mark.slow),
        pytest.param("disk", 8, 8, marks=pytest.mark.slow),
        ("store", 8, 8),
    ],
)
def test_each_worker_reads_its_rows_and_no_other_byte(
    sizes_read, tmp_path, place, num_workers, num_devices
):
    features = random_features(NUM_RECORDS, S, P)
    input_ids, examples = features["input_ids"], serialize_examples(features)
    files = _write(examples, tmp_path, place)
    sizes = np.array([len(x) for x in examples]) + _CHECKSUM_SIZE
    assert len(np.unique(sizes)) > 5  # so that one tells which were read
    records = PretrainingRecords(
        files, max_seq_length=S, max_predictions_per_seq=P
    )
    places = np.arange(FIRST_STEP, FIRST_STEP + NUM_STEPS) * BATCH_SIZE
    order, _ = ShuffledOrder(NUM_RECORDS, seed=SEED)(
        (places[:, None] + np.arange(BATCH_SIZE)).ravel()
    )
    rows_left = np.split(order, NUM_STEPS)
    counts = []
    for worker in range(num_workers):
        sizes_read.clear()
        batches = _batches_of_worker(records, worker, num_workers, num_devices)
        parts = iter(batches.take(NUM_STEPS * num_devices))
        own = []
        for step in range(NUM_STEPS):
            features = [next(parts)[0] for _ in range(num_devices)]
            ids = np.concatenate([x["input_ids"] for x in features])
            rows, rows_left[step] = np.split(rows_left[step], [len(ids)])
            np.testing.assert_array_equal(ids, input_ids[rows])
            own.extend(rows)
        assert sorted(sizes_read) == sorted(sizes[own])
        counts.append(len(own))
    assert not any(map(len, rows_left))  # none is missing
    # Of 150 rows, each of 64 workers reads 2 or 3, and each of 8 18 or 19.
    assert max(counts) - min(counts) == NUM_STEPS
