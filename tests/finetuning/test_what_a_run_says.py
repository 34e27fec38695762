"""What a run says if its batches or its validation rows tell it nothing."""

import keras
import numpy as np
import pytest

import keras_bert

TEXTS = ["a good film", "a bad film"] * 2
ONE_EPOCH = {"epochs": 1, "batch_size": 4}


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_loss_of_the_batch_needs_two_rows(checkpoint, logged):
    model = keras_bert.TextEmbedder.from_pretrained(
        checkpoint, max_seq_length=9
    )
    model.fit([("a film", "a movie")], epochs=1)
    assert (
        "compares the rows of a batch, but each batch has only" in logged.text
    )


@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore:.*constant")
def test_labels_that_are_all_equal_cannot_choose_a_model(checkpoint, logged):
    model = keras_bert.TextRegressor.from_pretrained(
        checkpoint, max_seq_length=9
    )
    held_out = (TEXTS, [1.0] * 4)
    model.fit(TEXTS, [1.0, 2.0] * 2, validation_data=held_out, **ONE_EPOCH)
    assert "The metric pearson of the validation rows is not a number" in (
        logged.text
    )


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_balanced_weights_follow_from_the_rows_of_each_fit(checkpoint):
    model = keras_bert.TextClassifier.from_pretrained(
        checkpoint, max_seq_length=9, class_weights="balanced"
    )
    for labels, expected in (("abbb", [2, 2 / 3]), ("aaab", [2 / 3, 2])):
        model.fit(TEXTS, list(labels), **ONE_EPOCH)
        np.testing.assert_allclose(model.kind.class_weights, expected, 1e-5)
    model.fit_few_shot(TEXTS, list("abbb"), **ONE_EPOCH)
    np.testing.assert_allclose(model.kind.class_weights, [2, 2 / 3], 1e-5)
    smooth = keras_bert.TextClassifier.from_pretrained(
        checkpoint, label_smoothing=0.1, max_seq_length=9
    )
    with pytest.raises(keras_bert.InputError, match="label_smoothing is 0.1"):
        smooth.fit_few_shot(TEXTS, list("abbb"))


def test_logits_are_float32_in_mixed_precision(config):
    models = keras_bert.models
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        for model in (
            models.build_multiple_choice(config),
            models.build_multiple_choice(config, packed=True),
            models.pool_windows(
                models.build_classifier(config, num_labels=3), "max"
            ),
        ):
            assert {x.dtype for x in model.output.values()} == {"float32"}
    finally:
        keras.mixed_precision.set_global_policy("float32")


def test_a_model_says_what_it_is(checkpoint, capsys):
    model = keras_bert.TextClassifier.from_pretrained(checkpoint, ["a", "b"])
    assert repr(model) == "TextClassifier(classification of text; a, b)"
    model.summary()
    assert "bert_classifier" in capsys.readouterr().out
