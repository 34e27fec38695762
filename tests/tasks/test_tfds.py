"""Data sets that the tests prepare as tensorflow-datasets does."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_bert.errors import InputError
from keras_bert.tasks.registry import get_task
from keras_bert.tasks.tfds_reader import read_tfds

pytest.importorskip(
    "importlib_resources",
    reason="tensorflow-datasets needs importlib_resources to prepare data",
)


def _prepare(data_dir, config, features, splits, version="2.0.0"):
    tfds.dataset_builders.store_as_tfds_dataset(
        "glue",
        config=config,
        version=version,
        features=tfds.features.FeaturesDict(features),
        split_datasets={
            split: tf.data.Dataset.from_tensor_slices(columns)
            for split, columns in splits.items()
        },
        data_dir=str(data_dir),
        disable_shuffling=True,
    )


@pytest.fixture
def mnli(tmp_path):
    features = {
        "premise": tfds.features.Text(),
        "hypothesis": tfds.features.Text(),
        # The task has them in another order.
        "label": tfds.features.ClassLabel(
            names=["entailment", "neutral", "contradiction"]
        ),
        "idx": np.int32,
    }
    labeled = {
        "premise": ["c", "ä", "b"],
        "hypothesis": ["C", "Ä", "B"],
        "label": [2, 0, 1],
        "idx": np.array([12, 3, 7], "int32"),
    }
    test = labeled | {"label": [-1, -1, -1]}
    splits = {
        "train": labeled,
        "validation_matched": labeled,
        "test_mismatched": test,
    }
    _prepare(tmp_path, "mnli", features, splits)
    return tmp_path


def test_labels_by_name_and_the_official_order(mnli):
    read = get_task("tfds/glue/mnli").read
    for split in ("train", "validation_matched"):
        assert list(read(mnli, split)) == [
            {"premise": "ä", "hypothesis": "Ä", "label": "entailment"},
            {"premise": "b", "hypothesis": "B", "label": "neutral"},
            {"premise": "c", "hypothesis": "C", "label": "contradiction"},
        ]
    assert list(read(mnli, "test_mismatched")) == [
        {"premise": "ä", "hypothesis": "Ä"},
        {"premise": "b", "hypothesis": "B"},
        {"premise": "c", "hypothesis": "C"},
    ]


def test_labels_by_their_order_and_numbers_of_the_newest_version(tmp_path):
    sentences = {"sentence1": tfds.features.Text()}
    sentences["sentence2"] = tfds.features.Text()
    for version, score in (("2.0.0", 1.5), ("10.0.0", 3.8), ("9.1.0", 2.5)):
        columns = {"sentence1": ["a"], "sentence2": ["b"]}
        _prepare(
            tmp_path,
            "stsb",
            {**sentences, "label": np.float32},
            {"validation": {**columns, "label": np.array([score], "float32")}},
            version,
        )
    assert list(get_task("tfds/glue/stsb").read(tmp_path, "validation")) == [
        {"sentence1": "a", "sentence2": "b", "label": "3.8"}
    ]
    # Enough rows for several batches.
    names = tfds.features.ClassLabel(names=["not_entailment", "entailment"])
    texts = [f"text {i}" for i in range(2345)]
    labels = [i % 3 // 2 for i in range(2345)]
    columns = {"sentence1": texts, "sentence2": texts, "label": labels}
    _prepare(
        tmp_path, "wnli", {**sentences, "label": names}, {"train": columns}
    )
    rows = list(get_task("tfds/glue/wnli").read(tmp_path, "train"))
    assert [row["sentence2"] for row in rows] == texts
    assert [row["label"] for row in rows] == [str(label) for label in labels]


def test_a_data_set_that_does_not_fit_is_named(mnli, tmp_path):
    task = get_task("tfds/glue/mnli")
    message = "glue/mnli has no split 'diagnostic', only .*validation_matched"
    with pytest.raises(FileNotFoundError, match=message):
        list(task.read(mnli, "diagnostic"))
    message = r'no prepared glue/qqp; run tensorflow_datasets.load\("glue/qqp"'
    with pytest.raises(FileNotFoundError, match=message):
        list(get_task("tfds/glue/qqp").read(mnli, "train"))
    for change, message in (
        ({"labels": ("0", "1")}, "has the labels entailment, neutral, .* 0, 1"),
        ({"text_fields": ("text",)}, "no field 'text', only .*premise"),
    ):
        with pytest.raises(InputError, match=message):
            changed = dataclasses.replace(task, **change)
            list(read_tfds(changed, "glue/mnli", mnli, "train"))
