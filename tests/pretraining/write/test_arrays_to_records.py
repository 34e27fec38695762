import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.write.arrays_to_records import serialize_examples


@pytest.mark.parametrize("limit", [2, 128, 129, 1 << 14, 1 << 21, 1 << 40])
def test_examples_hold_the_arrays(limit):
    random = np.random.default_rng(0)
    features = {
        "some_ids": random.integers(0, limit, (7, 150)),
        "one": np.array([[0], [1], [127], [128], [16383], [16384], [2]]),
        "weights": random.random((7, 5), np.float32),
    }
    features["some_ids"][0] = limit - 1
    features["some_ids"][1] = 0
    for row, record in enumerate(serialize_examples(features)):
        found = tf.train.Example.FromString(record).features.feature
        assert set(found) == set(features)
        for name in ("some_ids", "one"):
            values = found[name].int64_list.value
            np.testing.assert_array_equal(values, features[name][row])
        np.testing.assert_array_equal(
            found["weights"].float_list.value, features["weights"][row]
        )
        # No byte but those that protobuf itself writes, in some order.
        rewritten = tf.train.Example.FromString(record).SerializeToString()
        assert sorted(rewritten) == sorted(record)


@pytest.mark.parametrize("limit", [2, 200, 1 << 20])
def test_rows_of_their_own_lengths(limit):
    random = np.random.default_rng(1)
    rows = [random.integers(0, limit, n) for n in (3, 0, 200, 1, 7)]
    padded = np.zeros((5, 200), int)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    lengths = np.array([len(values) for values in rows])
    records = serialize_examples({"ids": (padded, lengths)})
    for record, values in zip(records, rows, strict=True):
        found = tf.train.Example.FromString(record).features.feature["ids"]
        assert list(found.int64_list.value) == values.tolist()
