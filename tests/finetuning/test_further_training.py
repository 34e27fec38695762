"""A trained model is trained further, with other rows or labels."""

import dataclasses

import numpy as np
import pytest

import keras_bert
from keras_bert.errors import InputError
from keras_bert.kinds.classification import Classification

TEXTS = ["a good film", "a bad film"] * 2
ONE_EPOCH = {"epochs": 1, "batch_size": 4}

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def trained(checkpoint, tmp_path):
    """Trains a classifier of a and b with these weights; returns its folder."""

    def train(class_weights, **settings):
        model = keras_bert.TextClassifier.from_pretrained(
            checkpoint,
            max_seq_length=9,
            class_weights=class_weights,
            **settings,
        )
        model.fit(TEXTS, list("abbb"), **ONE_EPOCH)
        model.save(tmp_path / "trained")
        return tmp_path / "trained"

    return train


@pytest.mark.slow
def test_balanced_weights_are_computed_from_the_new_rows(trained):
    folder = trained("balanced")
    model = keras_bert.load_finetuned(folder)
    model.fit(TEXTS, list("aaab"), **ONE_EPOCH)
    np.testing.assert_allclose(model.kind.class_weights, [2 / 3, 2], 1e-5)
    for labels, new_head, expected in (
        (["b", "a"], False, [2 / 3, 2]),
        (["c", "b", "a"], True, [4 / 3, 4 / 9, 4 / 3]),
    ):
        model = keras_bert.TextClassifier.from_pretrained(
            folder, labels=labels, new_head=new_head
        )
        model.fit(TEXTS, list("abbb"), **ONE_EPOCH)
        np.testing.assert_allclose(model.kind.class_weights, expected, 1e-5)


@pytest.mark.slow
def test_weights_by_position_are_not_those_of_other_labels(trained):
    folder, load = trained("1,5"), keras_bert.TextClassifier.from_pretrained
    message = "class_weights='1,5', a number for each of its labels; give"
    for change in ({"labels": ["b", "a"]}, {"new_head": True}):
        with pytest.raises(InputError, match=message):
            load(folder, **change)
        load(folder, class_weights="", **change)


@pytest.mark.slow
def test_a_classifier_that_reads_the_mean_goes_on_with_it(trained, config):
    folder = trained("", pooling="mean")
    for family in ("bert", "roberta"):
        of_family = dataclasses.replace(config, family=family)
        learned = Classification.settings_from_checkpoint(folder, of_family, {})
        assert learned == {"pooling": "mean"}


@pytest.mark.slow
def test_without_a_dev_set_thresholds_are_one_half(checkpoint):
    model = keras_bert.MultiLabelClassifier.from_pretrained(
        checkpoint, labels=["a", "b"], max_seq_length=9
    )
    model.model.get_layer("label_thresholds").thresholds.assign([0.2, 0.9])
    model.fit(TEXTS, [["a"], ["b"], [], ["a", "b"]], **ONE_EPOCH)
    thresholds = model.model.get_layer("label_thresholds").thresholds
    assert thresholds.numpy().tolist() == [0.5, 0.5]


def test_text_fields_in_another_order_are_refused(checkpoint, tmp_path):
    model = keras_bert.TextClassifier.from_pretrained(
        checkpoint, labels=["a", "b"], text_fields=["text", "hypothesis"]
    )
    model.save(tmp_path / "pairs")
    with pytest.raises(InputError, match=r"order \('text', 'hypothesis'\)"):
        keras_bert.load_finetuned(
            tmp_path / "pairs", text_fields=["hypothesis", "text"]
        )
    keras_bert.load_finetuned(tmp_path / "pairs", text_fields=["one", "two"])
