import gzip

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.data.examples import serialize_examples
from keras_bert.data.records import damage_named, read_pretraining_records

S, P = 23, 4


def _features(num_records):
    random = np.random.default_rng(3)
    features = {
        name: random.integers(0, 200_000, (num_records, size))
        for name, size in {
            "input_ids": S,
            "input_mask": S,
            "segment_ids": S,
            "masked_lm_positions": P,
            "masked_lm_ids": P,
            "next_sentence_labels": 1,
        }.items()
    }
    features["masked_lm_weights"] = random.random((num_records, P), np.float32)
    return features


@pytest.fixture
def files(tmp_path):
    """Two files of 30 and 7 records, and what they hold."""
    features = _features(37)
    records = serialize_examples(features)
    names = []
    for name, part in (("a", records[:30]), ("b", records[30:])):
        names.append(str(tmp_path / f"{name}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            for record in part:
                writer.write(record)
    return names, features


def _dataset(files, **kwargs):
    sizes = {"seq_length": S, "max_predictions_per_seq": P, "batch_size": 10}
    return read_pretraining_records(files, **(sizes | kwargs))


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


def test_shuffled_records_come_for_ever_in_full_batches(files):
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


def test_records_of_another_length_are_refused(files):
    names, _ = files
    with pytest.raises(ValueError, match="input_ids of length 23, but .* 99"):
        _dataset(names, seq_length=99)
    with pytest.raises(ValueError, match="positions of length 4, but .* 5"):
        _dataset(names, max_predictions_per_seq=5)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no record"), (b"not a TFRecord" * 9, "is not a TFRecord")],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    file = tmp_path / "broken.tfrecord"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"broken.tfrecord {message}"):
        _dataset([str(file)])


def test_a_damaged_record_is_named_or_left_out(files):
    names, features = files
    with open(names[0], "rb") as source:
        content = bytearray(source.read())
    content[len(content) // 2] ^= 1
    with open(names[0], "wb") as target:
        target.write(content)
    # The record in which the middle of the file lies, counted from 1.
    ends = np.cumsum([len(r) + 16 for r in serialize_examples(features)][:30])
    number = 1 + int((ends <= len(content) // 2).sum())
    message = f"a.tfrecord is damaged or cut off at record {number};"
    with pytest.raises(ValueError, match=message), damage_named(names):
        _ids(_dataset(names))

    dataset = _dataset(names, skip_corrupt_records=True)
    kept = [*range(number - 1), *range(30, 37)]
    np.testing.assert_array_equal(_ids(dataset), features["input_ids"][kept])


def test_googles_records_are_read_unchanged(shared):
    dataset = read_pretraining_records(
        [str(shared / "golden/pretraining_records/google.tfrecord")],
        seq_length=64,
        max_predictions_per_seq=10,
        batch_size=1000,
    )
    records = next(iter(dataset))
    assert records["input_ids"].shape == (624, 64)
    assert records["masked_lm_weights"].dtype == tf.float32
    assert set(records["next_sentence_labels"].numpy().ravel()) == {0, 1}
