import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.read.pairs_to_batches import (
    first_fit,
    pack_sequences,
)


def _examples(lengths, num_masked, max_seq_length, num_predictions):
    """A batch of the reader: token 3 of example 2 is 203, and so on."""
    size = len(lengths)
    features = {
        name: np.zeros((size, columns), "int32")
        for name, columns in {
            "input_ids": max_seq_length,
            "input_mask": max_seq_length,
            "segment_ids": max_seq_length,
            "masked_lm_positions": num_predictions,
            "masked_lm_ids": num_predictions,
            "next_sentence_labels": 1,
        }.items()
    }
    features["masked_lm_weights"] = np.zeros((size, num_predictions), "float32")
    for b, (length, masked) in enumerate(zip(lengths, num_masked, strict=True)):
        features["input_ids"][b, :length] = 100 * b + np.arange(length)
        features["input_mask"][b, :length] = 1
        features["segment_ids"][b, length // 2 : length] = 1
        features["masked_lm_positions"][b, :masked] = 1 + np.arange(masked)
        features["masked_lm_ids"][b, :masked] = 1000 * b + np.arange(masked)
        features["masked_lm_weights"][b, :masked] = 1
        features["next_sentence_labels"][b] = b % 2
    return features


def test_five_sequences_in_three_rows():
    packed = pack_sequences(_examples([4, 7, 3, 6, 2], [2, 1, 1, 1, 0], 10, 4))
    expected = {
        # First the longest: 7, 6 beside 4, 3 beside 7; 2 has a row alone.
        "input_ids": [
            [100, 101, 102, 103, 104, 105, 106, 200, 201, 202],
            [300, 301, 302, 303, 304, 305, 0, 1, 2, 3],
            [400, 401, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
        "input_mask": [
            [1, 1, 1, 1, 1, 1, 1, 2, 2, 2],
            [1, 1, 1, 1, 1, 1, 2, 2, 2, 2],
            [1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
        "segment_ids": [
            [0, 0, 0, 1, 1, 1, 1, 0, 1, 1],
            [0, 0, 0, 1, 1, 1, 0, 0, 1, 1],
            [0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
        "position_ids": [
            [0, 1, 2, 3, 4, 5, 6, 0, 1, 2],
            [0, 1, 2, 3, 4, 5, 0, 1, 2, 3],
            [0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
        "cls_positions": [[0, 7], [0, 6], [0, 0]],
        "masked_lm_positions": [[1, 8, 0], [1, 7, 8], [0, 0, 0]],
        "masked_lm_ids": [[1000, 2000, 0], [3000, 0, 1], [0, 0, 0]],
        "masked_lm_weights": [[1, 1, 0], [1, 1, 1], [0, 0, 0]],
        "next_sentence_labels": [[1, 0], [1, 0], [0, 0]],
        "next_sentence_weights": [[1, 1], [1, 1], [1, 0]],
    }
    assert packed.keys() == expected.keys()
    for name, array in expected.items():
        is_weight = name.endswith("weights")
        assert packed[name].dtype == (tf.float32 if is_weight else tf.int32)
        np.testing.assert_array_equal(packed[name], array, name)


@pytest.mark.parametrize(
    ("lengths", "rows"),
    [
        # The first row with room, not the one where 3 fits best.
        ([5, 7, 3], [0, 1, 0]),
        # A row is left open when another is begun.
        ([6, 5, 4, 5, 1, 9], [0, 1, 0, 1, 2, 2]),
        ([10, 10, 10], [0, 1, 2]),
        ([1] * 11, [0] * 10 + [1]),
    ],
)
def test_first_fit(lengths, rows):
    np.testing.assert_array_equal(
        first_fit(tf.constant(lengths, tf.int32), 10), rows
    )


def _unpacked(packed):
    """The examples in the rows, one by one, as tuples."""
    packed = {name: np.asarray(x) for name, x in packed.items()}
    for r, numbers in enumerate(packed["input_mask"]):
        assert packed["next_sentence_weights"][r].sum() == numbers.max()
        num_masked = 0
        for k in range(numbers.max()):
            columns = np.flatnonzero(numbers == k + 1)
            begin = packed["cls_positions"][r, k]
            length = len(columns)
            np.testing.assert_array_equal(columns, begin + np.arange(length))
            np.testing.assert_array_equal(
                packed["position_ids"][r, columns], np.arange(length)
            )
            positions = packed["masked_lm_positions"][r]
            inside = (positions >= begin) & (positions < begin + length)
            inside &= packed["masked_lm_weights"][r] == 1
            num_masked += inside.sum()
            yield (
                tuple(packed["input_ids"][r, columns]),
                tuple(packed["segment_ids"][r, columns]),
                tuple(positions[inside] - begin),
                tuple(packed["masked_lm_ids"][r, inside]),
                packed["next_sentence_labels"][r, k],
            )
        assert num_masked == packed["masked_lm_weights"][r].sum()


def test_each_example_comes_once():
    """In a data set, whose graph is built once for all sizes of a batch."""
    random = np.random.default_rng(2)
    sizes = dict(max_seq_length=23, num_predictions=6)
    lengths = random.integers(2, 16, 90)
    num_masked = random.integers(0, np.minimum(lengths - 1, 7))
    features = _examples(lengths, num_masked, **sizes)
    dataset = tf.data.Dataset.from_tensor_slices(features).batch(37)
    batches = list(dataset.map(pack_sequences))
    for batch, size in zip(batches, (37, 37, 16), strict=True):
        num_rows, num_sequences = batch["cls_positions"].shape
        assert num_rows < 0.6 * size and num_sequences > 2
    expected = {
        (
            tuple(features["input_ids"][b, :length]),
            tuple(features["segment_ids"][b, :length]),
            tuple(features["masked_lm_positions"][b, :masked]),
            tuple(features["masked_lm_ids"][b, :masked]),
            features["next_sentence_labels"][b, 0],
        )
        for b, (length, masked) in enumerate(
            zip(lengths, num_masked, strict=True)
        )
    }
    found = [example for batch in batches for example in _unpacked(batch)]
    assert len(found) == len(expected) == 90
    assert set(found) == expected
    for batch, eager in zip(batches, map(pack_sequences, dataset), strict=True):
        # Padding columns are empty, and no row is empty.
        padding = batch["input_mask"].numpy() == 0
        assert batch["input_ids"].shape[1] == 23
        assert not padding.all(1).any()
        for name in ("input_ids", "segment_ids", "position_ids"):
            assert not batch[name].numpy()[padding].any()
        for name, array in eager.items():
            np.testing.assert_array_equal(batch[name], array, name)


def test_full_rows_stay_as_they_are():
    features = _examples([8, 8, 8], [5, 4, 5], 8, 5)
    packed = pack_sequences(features)
    assert packed.pop("cls_positions").shape == (3, 1)
    for name in features:
        np.testing.assert_array_equal(packed[name], features[name], name)


def test_rows_without_masks_have_one_empty_position():
    packed = pack_sequences(_examples([3, 4], [0, 0], 9, 2))
    for name in ("positions", "ids", "weights"):
        np.testing.assert_array_equal(packed[f"masked_lm_{name}"], [[0]])


def test_a_worker_without_a_row_of_the_last_batch():
    features = _examples([5, 3], [1, 2], 7, 4)
    packed = pack_sequences({name: x[:0] for name, x in features.items()})
    assert packed["input_ids"].shape == (0, 7)
    assert {len(x) for x in packed.values()} == {0}
