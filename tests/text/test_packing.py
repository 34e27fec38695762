import numpy as np
import pytest
import tensorflow as tf

from keras_bert.text.packing import BertPreprocessor, pack_segments
from keras_bert.text.tokenizer import BertTokenizer


def test_exact_features_of_pairs(vocab_file):
    preprocessor = BertPreprocessor(BertTokenizer(vocab_file), seq_length=9)
    features = preprocessor(
        ["the fox jumped", "a film"], ["a dog", "very good movie!"]
    )
    expected = {
        "input_ids": [
            [2, 5, 9, 10, 12, 3, 6, 15, 3],
            [2, 6, 23, 3, 28, 25, 30, 18, 3],
        ],
        "input_mask": [[1] * 9, [1] * 9],
        "segment_ids": [
            [0, 0, 0, 0, 0, 0, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 1, 1, 1],
        ],
    }
    assert {k: v.numpy().tolist() for k, v in features.items()} == expected
    assert {v.dtype for v in features.values()} == {tf.int32}


def test_single_texts_are_cut_and_padded_to_the_longest(vocab_file):
    preprocessor = BertPreprocessor(BertTokenizer(vocab_file), seq_length=6)
    features = preprocessor(["fox", "the quick brown fox jumped", ""])
    assert features["input_ids"].numpy().tolist() == [
        [2, 9, 3, 0, 0, 0],
        [2, 5, 7, 8, 9, 3],
        [2, 3, 0, 0, 0, 0],
    ]
    assert features["input_mask"].numpy().sum(1).tolist() == [3, 6, 2]
    assert preprocessor(["fox"])["input_ids"].shape == (1, 3)


def test_the_longer_of_a_pair_loses_first():
    """Equal to dropping one token after another, as the reference does."""
    random = np.random.default_rng(3)
    first = [list(range(10, 10 + n)) for n in random.integers(0, 10, 200)]
    second = [list(range(30, 30 + n)) for n in random.integers(0, 10, 200)]
    packed = pack_segments(
        [
            tf.ragged.constant(first, tf.int32),
            tf.ragged.constant(second, tf.int32),
        ],
        seq_length=11,
        cls_id=2,
        sep_id=3,
    )
    expected = []
    for a, b in zip(first, second, strict=True):
        a, b = list(a), list(b)
        while len(a) + len(b) > 8:
            (a if len(a) > len(b) else b).pop()
        expected.append([2, *a, 3, *b, 3])
    assert packed.features["input_ids"].to_list() == expected
    assert packed.truncated.numpy().tolist() == [
        len(a) + len(b) > 8 for a, b in zip(first, second, strict=True)
    ]


def test_the_same_eagerly_and_in_a_dataset(vocab_file):
    preprocessor = BertPreprocessor(BertTokenizer(vocab_file), seq_length=8)
    first, second = ["the fox jumped", "a"], ["a dog", "very good movie!"]
    expected = preprocessor(first, second)
    dataset = tf.data.Dataset.from_tensors((first, second)).map(preprocessor)
    for name, value in next(iter(dataset)).items():
        np.testing.assert_array_equal(value, expected[name])


def test_a_too_short_length_is_refused(vocab_file):
    with pytest.raises(
        ValueError, match="seq_length is 3, but must be at least 4"
    ):
        BertPreprocessor(BertTokenizer(vocab_file), seq_length=3)
