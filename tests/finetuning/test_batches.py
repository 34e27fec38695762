"""Which examples a batch has, in which order, and how much padding."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import write_vocab

from keras_bert.finetuning.batches import evaluation_batches, training_batches
from keras_bert.kinds.examples import IGNORED, Examples
from keras_bert.kinds.fields import encode_columns
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.distribution import BatchShard


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """500 texts of 1 to 30 words; the label is the number of words."""
    tokenizer = BertTokenizer(write_vocab(tmp_path_factory.mktemp("vocab")))
    preprocessor = BertPreprocessor(tokenizer, max_seq_length=40)
    lengths = np.random.default_rng(2).integers(1, 31, 500)
    texts = ["fox " * n for n in lengths]
    return encode_columns(
        [texts], preprocessor, {"logits": tf.constant(lengths)}
    )


def _batches(examples, batch_size, num_epochs=1, seed=1, **options):
    return training_batches(
        examples,
        batch_size=batch_size,
        num_epochs=num_epochs,
        seed=seed,
        **options,
    )


def _labels(batches):
    return [labels["logits"].numpy().tolist() for _, labels, _ in batches]


def _masks(batches):
    return [features["input_mask"].numpy() for features, *_ in batches]


def test_an_epoch_has_every_example_once_with_its_label(examples):
    batches = list(_batches(examples, 32, num_epochs=2))
    assert len(batches) == 2 * 16
    epochs = []
    for epoch in (batches[:16], batches[16:]):
        seen = []
        for features, labels, weights in epoch:
            num_tokens = features["input_mask"].numpy().sum(1)
            assert (num_tokens == labels["logits"].numpy() + 2).all()
            assert num_tokens.max() == features["input_ids"].shape[1]
            assert (weights["logits"].numpy() == 1).all()
            seen += num_tokens.tolist()
        assert sorted(seen) == sorted(examples.lengths.tolist())
        epochs.append(seen)
    assert epochs[0] != epochs[1]


def test_a_batch_may_have_all_lengths(examples):
    ranges, seen = {}, {}
    for by_length in (True, False):
        lengths = _labels(_batches(examples, 50, by_length=by_length))
        ranges[by_length] = np.mean([np.ptp(x) for x in lengths])
        seen[by_length] = np.sort(np.concatenate(lengths))
    assert ranges[True] < 5  # of 30 words
    assert ranges[False] > 25
    np.testing.assert_array_equal(seen[True], seen[False])


def test_batches_have_little_padding_and_the_order_of_their_seed(examples):
    first, again, other = (
        _masks(_batches(examples, 8, seed=i)) for i in (1, 1, 2)
    )
    assert sum(m.sum() for m in first) / sum(m.size for m in first) > 0.9
    assert [m.shape for m in first] == [m.shape for m in again]
    assert [m.shape for m in first] != [m.shape for m in other]


def test_pools_have_similar_sizes(examples):
    # There are 72 batches. Pools of 64 and 8 batches would give 2% padding.
    masks = _masks(_batches(examples, 7))
    assert len(masks) == 72
    assert sum(m.sum() for m in masks) / sum(m.size for m in masks) > 0.985


def test_a_run_resumes_with_the_same_batches(examples):
    """Even with more epochs than before."""
    labels = _labels(_batches(examples, 32, num_epochs=4))
    assert labels[:16] == _labels(_batches(examples, 32))
    for first in (1, 16, 37):
        rest = _batches(examples, 32, num_epochs=4, first_batch=first)
        assert _labels(rest.take(9)) == labels[first : first + 9]


def test_the_order_is_that_of_runs_that_began_long_ago(examples):
    """A run must resume after an update of the package."""
    batches = _batches(examples, 4, num_epochs=2, first_batch=124)
    assert _labels(batches.take(3)) == [
        [9, 10, 10, 10],
        [15, 15, 15, 15],
        [28, 28, 28, 28],
    ]


def test_the_shares_of_a_batch_are_its_rows_as_wide_as_the_batch(examples):
    def batches(*share):
        return _batches(examples, 149, share=BatchShard(*share))

    sizes = set()
    for whole, *parts in zip(
        batches(0, 1), *(batches(i, 3) for i in range(3)), strict=True
    ):
        sizes |= {len(part[0]["input_ids"]) for part in parts}
        tf.nest.map_structure(
            lambda whole, *parts: np.testing.assert_array_equal(
                whole, np.concatenate(parts)
            ),
            whole,
            *parts,
        )
    # One batch has 53 rows.
    assert sizes == {49, 50, 17, 18}


def test_evaluation_is_sorted_by_length_and_returns_the_order(examples):
    dataset, order = evaluation_batches(examples, batch_size=64)
    lengths = np.concatenate(_labels(dataset))
    assert (np.diff(lengths) >= 0).all()
    np.testing.assert_array_equal(
        lengths, examples.labels["logits"].numpy()[order]
    )


def test_padded_and_ignored_labels_have_no_weight():
    ids = tf.ragged.constant([[2, 5, 3], [2, 9, 7, 8, 3]])
    labels = tf.ragged.constant(
        [[IGNORED, 2, IGNORED], [IGNORED, 1, IGNORED, 0, IGNORED]]
    )
    examples = Examples(
        {"input_ids": ids, "segment_ids": ids * 0},
        np.array([0, 1]),
        {"logits": labels},
    )
    _, labels, weights = examples.batch(tf.constant([1, 0]))
    assert labels["logits"].numpy().tolist() == [
        [0, 1, 0, 0, 0],
        [0, 2] + [0] * 3,
    ]
    assert weights["logits"].numpy().tolist() == [
        [0, 1, 0, 1, 0],
        [0, 1, 0, 0, 0],
    ]


def test_an_example_is_as_long_as_all_its_padded_sequences():
    ids = tf.ragged.constant([[[2, 5, 3], [2, 3]], [[2, 3], [2, 9, 7, 8, 3]]])
    examples = Examples(
        {"input_ids": ids, "segment_ids": ids * 0}, np.array([0, 1])
    )
    assert examples.lengths.tolist() == [2 * 3, 2 * 5]
    features, labels, weights = examples.batch(tf.constant([0]))
    assert features["input_ids"].numpy().tolist() == [[[2, 5, 3], [2, 3, 0]]]
    assert features["input_mask"].numpy().tolist() == [[[1, 1, 1], [1, 1, 0]]]
    assert labels == weights == {}
