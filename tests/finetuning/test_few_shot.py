"""Few examples: contrast, and then a head that is solved for."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from kind_examples import make_kind
from sklearn.linear_model import LogisticRegression
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.errors import InputError
from keras_bert.finetuning.few_shot import (
    FEW_SHOT,
    _error_of_cosines,
    _solve,
)

TEXTS = ["a good film", "good", "the dog is bad", "bad", "a quick fox", "fox"]
LABELS = ["good", "good", "bad", "bad", "fox", "fox"]


def _classifier(checkpoint, **options):
    return keras_bert.TextClassifier.from_pretrained(checkpoint, **options)


@pytest.mark.slow
def test_it_learns_what_the_examples_show(checkpoint, tmp_path):
    model = _classifier(checkpoint, pooling="mean")
    config = dataclasses.replace(FEW_SHOT, save_checkpoints_steps=10)
    history = model.fit_few_shot(
        TEXTS, LABELS, epochs=30, learning_rate=0.01, config=config
    )
    losses = history.history["loss"]
    assert losses[-1] < losses[0] / 2
    answers = model.predict(TEXTS)
    assert [answer["label"] for answer in answers] == LABELS
    model.save(tmp_path / "saved")
    loaded = keras_bert.load_finetuned(tmp_path / "saved")
    assert loaded.kind.spec.settings.pooling == "mean"
    assert loaded.predict(TEXTS) == answers


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_config_counts_and_an_argument_counts_more(checkpoint, caplog):
    model = _classifier(checkpoint, pooling="pooled")
    config = keras_bert.FinetuningConfig(
        num_train_epochs=3, train_batch_size=4, learning_rate=1e-4
    )
    history = model.fit_few_shot(TEXTS, LABELS, config=config, epochs=2)
    assert len(history.history["loss"]) == 2
    used = model.training["config"]
    assert (used["train_batch_size"], used["learning_rate"]) == (4, 1e-4)
    assert "give pooling='mean'" not in caplog.text  # its pooler is trained


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_new_pooler_is_warned_of(config, tmp_path, caplog):
    config = dataclasses.replace(config, num_hidden_layers=1)
    build = keras_bert.models.build_embedder
    start = write_checkpoint(tmp_path / "start", config, build=build)
    model = _classifier(start, pooling="pooled")
    model.fit_few_shot(TEXTS, LABELS, epochs=1)
    assert "give pooling='mean'" in caplog.text


@pytest.mark.parametrize("num_labels", [2, 3])
def test_the_layer_is_a_logistic_regression(num_labels):
    random = np.random.default_rng(7)
    labels = np.arange(11) % num_labels
    vectors = random.normal(size=(11, 5)) + labels[:, None]
    kernel, bias = _solve(vectors, labels)
    scale = np.linalg.norm(vectors, axis=1).mean()
    solved = LogisticRegression(max_iter=1000).fit(vectors / scale, labels)
    np.testing.assert_allclose(
        tf.nn.softmax(vectors @ kernel + bias),
        solved.predict_proba(vectors / scale),
        atol=1e-9,
    )


def test_the_error_of_all_pairs_without_rows_that_do_not_count():
    vectors = tf.constant([[2.0, 0.0], [0.0, 1.0], [3.0, 3.0], [9.0, 9.0]])
    labels, weights = tf.constant([1, 1, 0, 0]), tf.constant([1.0, 1, 1, 0])
    # One pair of one label, with the cosine 0; two others, with 1 / sqrt(2).
    error = _error_of_cosines(labels, vectors, weights)
    assert float(error) == pytest.approx(1 + 0.5)


def test_what_it_refuses(checkpoint):
    model = _classifier(checkpoint, labels=["bad", "good"])
    with pytest.raises(InputError, match="A label has no example"):
        model.fit_few_shot(["good"], ["good"])
    with pytest.raises(InputError, match="Label None of example 1 is not one"):
        model.fit_few_shot(["good", "bad"])
    for some in (model, _classifier(checkpoint)):
        with pytest.raises(InputError, match=r"Label \['good'\] of example 1"):
            some.fit_few_shot(["good", "bad"], [["good"], ["bad"]])
    model = keras_bert.MultiLabelClassifier.from_pretrained(checkpoint)
    assert not hasattr(model, "fit_few_shot")
    model = _classifier(checkpoint, window_pooling="mean")
    with pytest.raises(InputError, match="not read texts in windows"):
        model.fit_few_shot(TEXTS, LABELS)


@pytest.mark.slow
def test_a_mean_of_tokens_is_served_and_has_no_place_in_transformers(
    checkpoint, tmp_path
):
    model = _classifier(checkpoint, labels=["bad", "good"], pooling="mean")
    served = keras_bert.ServedModel(model.export(tmp_path / "served"))
    rows = [{"text": text} for text in TEXTS]
    for answer, expected in zip(
        served.answer(rows), model.predict(TEXTS), strict=True
    ):
        assert answer["scores"] == pytest.approx(expected["scores"], abs=1e-6)
    model.save(tmp_path / "saved")
    for to in ("huggingface", "google_tf1"):
        with pytest.raises(InputError, match="pooling=mean"):
            keras_bert.convert_checkpoint(
                tmp_path / "saved", tmp_path / "converted", to=to
            )
        assert not (tmp_path / "converted").exists()


def test_the_head_of_pre_training_reads_the_pooler(vocab_file, config):
    with pytest.raises(InputError, match="needs the pooler"):
        make_kind(
            "next_sentence",
            vocab_file,
            config,
            labels=("a", "b"),
            pooling="mean",
        )
