import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from read_records import random_features, read_records

from keras_bert.errors import InputError
from keras_bert.pretraining.read.files_to_records import (
    PretrainingRecords,
    find_files,
)
from keras_bert.pretraining.read.pairs_to_batches import pretraining_batches
from keras_bert.pretraining.write.arrays_to_records import serialize_examples

S, P = 23, 4


@pytest.fixture
def files(tmp_path):
    """Two files of 30 and 7 records, and their features."""
    features = random_features(37, S, P)
    records = serialize_examples(features)
    names = []
    for name, part in (("a", records[:30]), ("b", records[30:])):
        names.append(str(tmp_path / f"{name}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            for record in part:
                writer.write(record)
    return names, features


SIZES = {"max_seq_length": S, "max_predictions_per_seq": P}


def _dataset(files, **kwargs):
    return read_records(files, **{"batch_size": 10, **SIZES} | kwargs)


def _ids(dataset):
    return np.concatenate([batch["input_ids"].numpy() for batch in dataset])


def test_files_are_read_in_order_whether_compressed_or_not(files):
    (first, second), features = files
    with open(second, "rb") as plain:
        content = gzip.compress(plain.read())
    with open(second, "wb") as packed:
        packed.write(content)
    dataset = _dataset([first, second])
    assert dataset.cardinality() == 4
    for name, expected in features.items():
        found = np.concatenate([b[name].numpy() for b in dataset])
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == (np.float32 if "weights" in name else np.int32)


def test_shuffled_records_repeat_without_end_in_full_batches(files):
    names, features = files

    def batches(seed):
        dataset = _dataset(names, shuffle_seed=seed).take(20)
        return [batch["input_ids"].numpy() for batch in dataset]

    first = batches(3)
    assert {batch.shape for batch in first} == {(10, S)}
    np.testing.assert_array_equal(first, batches(3))
    assert not np.array_equal(first, batches(4))
    rows = {row.tobytes() for batch in first for row in batch}
    assert rows == {row.tobytes() for row in features["input_ids"].astype("i4")}


@pytest.mark.slow
def test_a_process_ends_while_records_are_read(files):
    program = """
import sys
from read_records import read_records
batches = read_records(
    sys.argv[1:],
    batch_size=100,
    shuffle_seed=3,
    max_seq_length=23,
    max_predictions_per_seq=4,
)
iterator = iter(batches)
for _ in range(20):
    next(iterator)
"""
    subprocess.run(
        [sys.executable, "-c", program, *files[0]],
        cwd=Path(__file__).parents[2],
        check=True,
        timeout=100,
    )


def test_a_file_that_is_named_twice_is_read_twice_an_epoch(files):
    (first, second), features = files
    ids = _ids(_dataset([first, second, second], shuffle_seed=3).take(44))
    rows = {row.tobytes() for row in features["input_ids"][30:].astype("i4")}
    assert sum(row.tobytes() in rows for row in ids) == 140


def test_files_are_a_list_or_names_and_globs(tmp_path):
    for name in ("a1", "a2", "b"):
        (tmp_path / name).touch()
    first, second, other = (str(tmp_path / name) for name in ("a1", "a2", "b"))
    assert find_files(None) == find_files("") == []
    assert find_files([other, tmp_path / "a1"]) == [other, first]
    assert find_files(f"{tmp_path}/a*, {other}") == [first, second, other]
    assert find_files(tmp_path / "b") == [other]


def test_records_of_another_length_are_refused(files):
    names, _ = files
    with pytest.raises(ValueError, match="input_ids of length 23, but .* 99"):
        _dataset(names, max_seq_length=99)
    with pytest.raises(ValueError, match="positions of length 4, but .* 5"):
        _dataset(names, max_predictions_per_seq=5)


def test_a_file_without_examples_is_named(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    text = tmp_path / "text"
    text.write_bytes(b"not a TFRecord" * 9)
    other = tmp_path / "other"
    with tf.io.TFRecordWriter(str(other)) as writer:
        writer.write(b"no protobuf")
    for file, message in (
        (folder, f"{folder} is a folder; give the files in it"),
        (text, f"{text} is not a TFRecord"),
        (other, f"Record 1 of {other} is not a tf.train.Example"),
    ):
        with pytest.raises(ValueError, match=message):
            _dataset([str(file)])


def test_empty_files_are_left_out(files, tmp_path):
    names, features = files
    (tmp_path / "empty").touch()
    empty = str(tmp_path / "empty")
    ids = _ids(_dataset([empty, *names]))
    np.testing.assert_array_equal(ids, features["input_ids"])
    with pytest.raises(ValueError, match="There is no record in"):
        _dataset([empty])


def _ends(features):
    """The end of each record of the first file."""
    records = serialize_examples(features)[:30]
    return np.cumsum([len(record) + 16 for record in records])


def _damage(file, *places):
    with open(file, "rb") as source:
        content = bytearray(source.read())
    for place in places:
        content[place] ^= 1
    with open(file, "wb") as target:
        target.write(content)


def _read_all(files):
    """Reads all records; errors are named."""
    records = PretrainingRecords(files, **SIZES)
    with records.errors_named(vocab_size=200_000):
        _ids(records.batches(10))


def test_a_later_record_of_another_kind_is_named(files):
    names, features = files
    longer = {name: np.repeat(x, 2, axis=1) for name, x in features.items()}
    records = serialize_examples(features)[:30]
    for last, problem in (
        (serialize_examples(longer)[0], "has input_ids of length 46, but"),
        (b"no protobuf", "is not a tf.train.Example; make"),
        (b"", "has no int64_list input_ids; create the records again, all"),
    ):
        with tf.io.TFRecordWriter(names[1]) as writer:
            for record in [*records, last]:
                writer.write(record)
        message = f"Record 31 of {names[1]} {problem}"
        with pytest.raises(InputError, match=message):
            _read_all(names)


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("masked_lm_positions", 23, 22),
        ("segment_ids", 2, 1),
        ("next_sentence_labels", 2, 1),
    ],
)
def test_a_value_that_the_network_would_read_wrongly(files, name, value, limit):
    """A position after a row is in the next row, unless it is checked."""
    names, features = files
    for of_limit in ("masked_lm_positions", "segment_ids", name):
        features[of_limit] %= 2
    features[name][5, 0] = value
    with tf.io.TFRecordWriter(names[0]) as writer:
        for record in serialize_examples(features):
            writer.write(record)
    records = PretrainingRecords(names[:1], **SIZES)
    message = f"has {value} among its {name}, but .* from 0 to {limit}; create"
    outputs = ("masked_lm", "next_sentence")
    options = {"vocab_size": 200_000, "outputs": outputs, "packed": True}
    with (
        pytest.raises(InputError, match=message),
        records.errors_named(vocab_size=200_000),
    ):
        list(pretraining_batches(records.batches(10), **options))


@pytest.mark.parametrize(
    ("place", "record"),
    [(-50, 8), (-2, 8), (3, 9), (9, 9)],
    ids=["data", "its checksum", "length", "its checksum"],
)
def test_a_damaged_record_is_named(files, place, record):
    names, features = files
    _damage(names[0], _ends(features)[7] + place)
    message = f"a.tfrecord is damaged or cut off at record {record};"
    with pytest.raises(InputError, match=message):
        _read_all(names)


def test_a_file_cut_off_is_named(files):
    names, features = files
    with open(names[0], "r+b") as file:
        file.truncate(_ends(features)[20] - 5)
    with pytest.raises(InputError, match="a.tfrecord .* cut off at record 21;"):
        _read_all(names)
    with open(names[0], "rb") as plain:
        content = gzip.compress(plain.read())
    with open(names[0], "wb") as packed:
        packed.write(content[:-20])
    with pytest.raises(InputError, match="a.tfrecord is damaged or cut off"):
        _read_all(names)


def test_googles_records_are_read_unchanged(shared):
    dataset = read_records(
        [str(shared / "golden/pretraining_records/google.tfrecord")],
        max_seq_length=64,
        max_predictions_per_seq=10,
        batch_size=1000,
    )
    records = next(iter(dataset))
    assert records["input_ids"].shape == (624, 64)
    assert records["masked_lm_weights"].dtype == tf.float32
    assert set(records["next_sentence_labels"].numpy().ravel()) == {0, 1}
