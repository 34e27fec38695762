from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.pretraining import records as module
from keras_bert.pretraining.records import RecordFiles

FIRST = [bytes([i]) * (7 * i % 23) for i in range(30)]
SECOND = [b"other", b"", b"the last"]


def _write(path, records):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.fixture
def files(tmp_path):
    return [
        _write(tmp_path / "a.tfrecord", FIRST),
        _write(tmp_path / "empty", []),
        _write(tmp_path / "b.tfrecord", SECOND),
    ]


def test_records_are_read_by_their_numbers(files):
    records = RecordFiles(files)
    assert records.numbers == [range(30), range(30, 30), range(30, 33)]
    assert records.read(range(33)) == FIRST + SECOND
    assert records.read(np.array([32, 0, 29])) == [SECOND[2], *FIRST[::29]]


def test_an_index_is_made_once(files, tmp_path, monkeypatch):
    RecordFiles(files)
    monkeypatch.setattr(module, "make_index", None)
    assert RecordFiles(files).read([31, 5]) == [b"", FIRST[5]]
    # A shell does not list it with the files.
    assert {str(path) for path in tmp_path.glob("[!.]*")} == set(files)


def test_a_changed_file_gets_another_index(files):
    RecordFiles(files)
    _write(files[0], FIRST[:9])
    assert RecordFiles(files).read([9]) == SECOND[:1]


def test_a_damaged_record_is_named_when_it_is_read(files):
    with open(files[2], "r+b") as file:
        file.seek(13)
        file.write(b"!")
    records = RecordFiles(files)
    with pytest.raises(InputError, match="b.tfrecord is not a TFRecord file"):
        records.read([30])
    assert records.read([31]) == [b""]


@pytest.mark.parametrize(
    "table", [np.zeros((1, 2), "int64"), np.zeros(5, "int64"), np.zeros((3, 2))]
)
def test_a_damaged_index_is_made_again(files, table):
    RecordFiles(files)
    np.save(module._index_path(Path(files[0])), table)
    assert RecordFiles(files).read([3]) == [FIRST[3]]


def test_a_read_only_folder_needs_no_index(files, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(module, "shared_path", refuse)
    assert RecordFiles(files).read([30]) == SECOND[:1]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_records_are_read_from_a_store(files, remote):
    for file in files:
        (remote / Path(file).name).write_bytes(Path(file).read_bytes())
    names = [str(remote / Path(file).name) for file in files]
    for _ in range(2):  # the second time with the saved indexes
        assert RecordFiles(names).read([32, 3]) == [SECOND[2], FIRST[3]]
    assert (remote / ".b.tfrecord.index.npy").exists()
    damaged = Path(files[2]).read_bytes().replace(b"other", b"Other")
    (remote / "b.tfrecord").write_bytes(damaged)
    with pytest.raises(InputError, match="b.tfrecord is not a TFRecord file"):
        RecordFiles(names).read([3, 30])
