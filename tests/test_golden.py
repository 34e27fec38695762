"""Results equal those recorded from google-research/bert and transformers."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.losses import cross_entropy, weighted_mean
from keras_bert.training.optimizers.adam import AdamWeightDecay, WarmupDecay


def _outputs(model, features, num_layers):
    """Returns every layer's output under its name in the golden files."""
    tokens = {"embedding_output": model.get_layer("flatten_tokens").output}
    for i in range(num_layers):
        tokens[f"layer_{i}_output"] = model.get_layer(f"layer_{i}").output
    texts = {
        "sequence_output": model.get_layer("sequence_output").output,
        "pooled_output": model.get_layer("pooler").output,
    }
    names = ("input_ids", "input_mask", "segment_ids")
    inputs = {name: model.input[name] for name in names}
    found = keras.Model(inputs, tokens | texts)(
        {name: features[name] for name in names}
    )
    shape = (*features["input_ids"].shape, -1)
    return {
        name: (tf.reshape(value, shape) if name in tokens else value).numpy()
        for name, value in found.items()
    }


@pytest.fixture
def tf1_small(shared):
    folder = shared / "golden" / "tf1_small"
    expected = dict(np.load(folder / "expected.npz"))
    checkpoint = Checkpoint.of(folder / "bert_model.ckpt")
    model = build_pretraining_model(checkpoint.config)
    load_checkpoint(model, checkpoint)
    features = {name: expected[name] for name in model.input}
    return folder, model, features, expected


def _losses(outputs, expected):
    masked_lm = cross_entropy(expected["masked_lm_ids"], outputs["masked_lm"])
    next_sentence = cross_entropy(
        expected["next_sentence_labels"][:, 0], outputs["next_sentence"]
    )
    return (
        weighted_mean(masked_lm, expected["masked_lm_weights"]),
        tf.reduce_mean(next_sentence),
    )


def test_outputs_and_losses_equal_google_research_bert(tf1_small):
    _, model, features, expected = tf1_small
    found = _outputs(model, features, 2)
    outputs = model(features)
    logits = tf.reshape(outputs["masked_lm"], (20, 31))
    found["masked_lm_log_probs"] = tf.nn.log_softmax(logits).numpy()
    found["next_sentence_log_probs"] = tf.nn.log_softmax(
        outputs["next_sentence"]
    ).numpy()
    found["masked_lm_loss"], found["next_sentence_loss"] = _losses(
        outputs, expected
    )
    assert found.keys() == expected.keys() - {
        *features,
        "masked_lm_ids",
        "masked_lm_weights",
        "next_sentence_labels",
        "losses_6_steps",
    }
    for name, value in found.items():
        np.testing.assert_allclose(
            value, expected[name], atol=1e-5, rtol=0, err_msg=name
        )


def test_six_training_steps_equal_google_research_bert(tf1_small):
    """The reference run has no dropout either."""
    folder, model, features, expected = tf1_small
    optimizer = AdamWeightDecay(WarmupDecay(1e-2, 10, 3))
    losses = []
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = sum(_losses(model(features, training=False), expected))
        losses.append(float(loss))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
    np.testing.assert_allclose(losses, expected["losses_6_steps"], rtol=1e-4)
    after = Checkpoint.of(folder / "after_6_steps.ckpt").arrays
    assert after.keys() == {weight.path for weight in model.weights}
    for weight in model.weights:
        np.testing.assert_allclose(
            weight.numpy(),
            after[weight.path].read(),
            atol=1e-5,
            err_msg=weight.path,
        )


def test_minilm_from_raw_text_equals_transformers(shared):
    checkpoint = shared / "data" / "checkpoints" / "all-MiniLM-L6-v2"
    expected = dict(np.load(shared / "golden" / "minilm" / "expected.npz"))
    config = Checkpoint.of(checkpoint).config
    assert config.hidden_act == "gelu_erf"
    encoder = build_encoder(config)
    load_checkpoint(encoder, checkpoint)

    preprocessor = BertPreprocessor(BertTokenizer(checkpoint / "vocab.txt"))
    texts = json.loads((shared / "golden/minilm/texts.json").read_text())
    for row, (first, second) in enumerate(texts):
        pair = [[first]] if second is None else [[first], [second]]
        features = preprocessor(*map(tf.constant, pair))
        length = features["input_ids"].shape[1]
        for name, value in features.items():
            np.testing.assert_array_equal(
                value[0], expected[name][row, :length]
            )
        assert not expected["input_mask"][row, length:].any()
        found = _outputs(encoder, features, config.num_hidden_layers)
        for name, value in found.items():
            wanted = expected[name][row]
            if name != "pooled_output":
                wanted = wanted[:length]
            np.testing.assert_allclose(
                value[0], wanted, atol=1e-4, rtol=0, err_msg=name
            )
