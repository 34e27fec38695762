import numpy as np
import pytest

from keras_bert.data.finetuning import (
    Examples,
    encode_examples,
    encode_labels,
    evaluation_batches,
    training_batches,
)
from keras_bert.tasks import get_task
from keras_bert.tasks.base import Task
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer


@pytest.fixture
def preprocessor(vocab_file):
    return BertPreprocessor(BertTokenizer(vocab_file), seq_length=40)


@pytest.fixture
def examples(preprocessor):
    """500 texts of 1 to 30 words; the label is the number of words."""
    lengths = np.random.default_rng(2).integers(1, 31, 500)
    rows = [{"text": "fox " * n} for n in lengths]
    return encode_examples(rows, ("text",), preprocessor, lengths)


def test_pairs_and_their_labels(preprocessor):
    task = get_task("glue/mrpc")
    rows = [
        {"sentence1": "the fox", "sentence2": "a dog", "label": "1"},
        {"sentence1": "film", "sentence2": "bad", "label": "0"},
    ]
    examples = encode_examples(rows, task.text_fields, preprocessor)
    assert examples.packed["input_ids"].to_list() == [
        [2, 5, 9, 3, 6, 15, 3],
        [2, 23, 3, 26, 3],
    ]
    assert encode_labels(rows, task).tolist() == [1, 0]


def test_every_example_once_an_epoch_with_its_label(examples):
    batches = list(
        training_batches(examples, batch_size=32, num_epochs=2, seed=1)
    )
    assert len(batches) == 2 * 16
    epochs = []
    for epoch in (batches[:16], batches[16:]):
        seen = []
        for features, labels in epoch:
            num_tokens = features["input_mask"].numpy().sum(1)
            assert (num_tokens == labels["logits"].numpy() + 2).all()
            assert num_tokens.max() == features["input_ids"].shape[1]
            seen += num_tokens.tolist()
        assert sorted(seen) == sorted(examples.lengths.tolist())
        epochs.append(seen)
    assert epochs[0] != epochs[1]


def test_little_padding_and_the_same_order_for_a_seed(examples):
    def masks(seed):
        dataset = training_batches(
            examples, batch_size=8, num_epochs=1, seed=seed
        )
        return [features["input_mask"].numpy() for features, _ in dataset]

    first = masks(1)
    assert sum(m.sum() for m in first) / sum(m.size for m in first) > 0.9
    assert [m.shape for m in first] == [m.shape for m in masks(1)]
    assert [m.shape for m in first] != [m.shape for m in masks(2)]


def test_more_epochs_begin_with_the_same_batches(examples):
    """So a run that is given more epochs goes on with its data."""

    def labels(num_epochs):
        dataset = training_batches(
            examples, batch_size=32, num_epochs=num_epochs, seed=1
        )
        return [y["logits"].numpy().tolist() for _, y in dataset]

    assert labels(3)[:16] == labels(1)


def test_evaluation_goes_by_length_and_tells_the_places(examples):
    dataset, order = evaluation_batches(examples, batch_size=64)
    lengths = np.concatenate(
        [labels["logits"].numpy() for _, labels in dataset]
    )
    assert (np.diff(lengths) >= 0).all()
    np.testing.assert_array_equal(lengths, examples.labels[order])


def test_without_labels_batches_are_features_alone(examples):
    dataset, _ = evaluation_batches(Examples(examples.packed), batch_size=64)
    (features,) = next(iter(dataset))
    assert sorted(features) == ["input_ids", "input_mask", "segment_ids"]


def test_numbers_for_a_regression():
    task = Task(
        head="regression",
        text_fields=("text",),
        metrics=("pearson",),
        read=lambda data_dir, split: [],
    )
    labels = encode_labels([{"label": "2.5"}, {"label": "-1"}], task)
    assert labels.dtype == np.float32 and labels.tolist() == [2.5, -1.0]
    with pytest.raises(ValueError, match="'high' of example 2 is not a number"):
        encode_labels([{"label": "1"}, {"label": "high"}], task)


def test_unknown_labels_and_missing_fields_are_named(preprocessor):
    task = get_task("glue/sst2")
    with pytest.raises(ValueError, match="'2' of example 1 is not one of 0, 1"):
        encode_labels([{"label": "2"}], task)
    with pytest.raises(ValueError, match="Label None of example 1"):
        encode_labels([{}], task)
    with pytest.raises(ValueError, match="Example 1 has no field 'sentence'"):
        encode_examples([{"text": "a"}], task.text_fields, preprocessor)
