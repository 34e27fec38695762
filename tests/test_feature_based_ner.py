"""The example of a kind of one's own: a tagger on a frozen encoder."""

import csv
import dataclasses
import json
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import B, S, randomize
from reference_bert import bert
from safetensors.numpy import save_file
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.kinds.registry import KINDS
from keras_bert.models.encoder import build_encoder

EXAMPLE = Path(__file__).parent.parent / "examples" / "feature_based_ner.py"
NUM_LABELS, UNITS = 9, 6
FEATURES = [
    "embeddings",
    "second_to_last",
    "last",
    "weighted_sum_last_four",
    "concat_last_four",
    "weighted_sum_all",
]


@pytest.fixture(scope="module")
def task():
    yield keras_bert.get_task(EXAMPLE)
    del KINDS["feature_based_ner"]  # no other test expects it


@pytest.fixture
def build(task, config):
    """Builds a tagger on an encoder of five layers."""

    def build(features, bilstm_size=UNITS, **changes):
        kind = keras_bert.kinds.get_kind(task.kind)
        settings = kind.Settings(features=features, bilstm_size=bilstm_size)
        spec = keras_bert.kinds.TaskSpec(
            task.kind, task.text_fields, settings, task.labels
        )
        assert len(task.labels) == NUM_LABELS
        changed = {"num_hidden_layers": 5} | changes
        changed = dataclasses.replace(config, **changed)
        return kind(spec, tokenizer=None).build_model(changed), changed

    return build


@pytest.fixture
def features(features):
    del features["masked_lm_positions"]
    return features


def _weights(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def _softmax(x):
    return np.exp(x) / np.exp(x).sum()


@pytest.mark.parametrize("features_name", FEATURES)
def test_equals_the_reference(build, features, features_name):
    bilstm_size = 0 if features_name == "last" else UNITS
    model, config = build(features_name, bilstm_size)
    randomize(model)
    weights = _weights(model)
    outputs = bert(weights, config, features)
    layers = [outputs["embedding_output"]]
    layers += [outputs[f"layer_{i}_output"] for i in range(5)]
    if features_name.startswith("weighted"):
        shares = _softmax(weights["layer_weights/scores"])
        assert len(shares) == (5 if features_name.endswith("all") else 4)
        layers = layers[-len(shares) :]
        x = sum(w * layer for w, layer in zip(shares, layers, strict=True))
    else:
        x = {
            "embeddings": layers[0],
            "second_to_last": layers[4],
            "last": layers[5],
            "concat_last_four": np.concatenate(layers[2:], axis=-1),
        }[features_name]
    if bilstm_size:
        x = _bilstms(weights, x, features["input_mask"])
    expected = _dense(weights, "token_classifier", x)
    found = keras.ops.convert_to_numpy(model(features)["logits"])
    assert found.shape == (B, S, NUM_LABELS)
    is_token = features["input_mask"] == 1
    np.testing.assert_allclose(found[is_token], expected[is_token], atol=1e-5)


@pytest.mark.slow
def test_only_the_tagger_is_trained(build, features):
    model, config = build(
        "weighted_sum_all",
        hidden_dropout_prob=0.5,
        attention_probs_dropout_prob=0.5,
    )
    parts = {weight.path.split("/")[0] for weight in model.trainable_weights}
    tagger = {"layer_weights", "bilstm_0", "bilstm_1", "token_classifier"}
    assert parts == tagger
    # The model has the whole encoder, under its own paths.
    encoder = {weight.path for weight in build_encoder(config).weights}
    assert encoder == {weight.path for weight in model.non_trainable_weights}
    frozen = model.get_layer("frozen")
    for a, b in zip(
        frozen(features, training=True), frozen(features), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    # The dropout before the softmax is the one of a trained encoder.
    logits = [model(features, training=True)["logits"] for _ in range(2)]
    assert np.abs(logits[0] - logits[1]).max() > 1e-3


def test_it_reads_checkpoints_of_an_encoder(build, tmp_path):
    model, config = build("embeddings")
    encoder = build_encoder(config)
    randomize(encoder)
    save_file(_weights(encoder), tmp_path / "model.safetensors")
    load_checkpoint(model, tmp_path / "model.safetensors")
    weights = _weights(model)
    for path, value in _weights(encoder).items():
        np.testing.assert_array_equal(weights[path], value)


def test_features_that_do_not_exist(build):
    with pytest.raises(keras_bert.InputError, match="features is 'first'"):
        build("first")
    with pytest.raises(keras_bert.InputError, match="four layers, .* has 3"):
        build("concat_last_four", num_hidden_layers=3)


@pytest.mark.slow
@pytest.mark.parametrize("crf", [False, True])
def test_it_is_trained_exported_and_asked(task, config, tmp_path, crf):
    write_checkpoint(tmp_path / "pretrained", config)
    rows = [
        {"words": ["the", "lazy", "fox"], "label": ["O", "O", "B-PER"]},
        {"words": ["a", "brown", "dog"], "label": ["O", "B-LOC", "I-LOC"]},
    ]

    def read(data_dir, split):
        if split == "test":
            raise FileNotFoundError("There is no test set.")
        return rows * 2 + rows[:1]

    results = keras_bert.finetune(
        dataclasses.replace(task, read=read, validation_splits=("validation",)),
        tmp_path,
        tmp_path / "out",
        checkpoint=tmp_path / "pretrained",
        config=keras_bert.FinetuningConfig(
            learning_rate=0.03, train_batch_size=5, num_train_epochs=3
        ),
        settings={
            "features": "last",
            "bilstm_size": 7,
            "max_seq_length": 12,
            "crf": crf,
        },
    )
    saved = json.loads((tmp_path / "out" / "best" / "task.json").read_text())
    assert saved["kind"] == "feature_based_ner"

    model = keras_bert.load_finetuned(tmp_path / "out")
    assert model.evaluate(read(None, "validation")) == pytest.approx(results)
    tags = [answer["tags"] for answer in model.predict(rows)]
    version = model.export(tmp_path / "served")
    served = keras_bert.ServedModel(version, "words").answer(rows)
    assert [answer["tags"] for answer in served] == tags

    # A multiply-add counts twice. The frozen layers only run forward: per token
    # and layer, 4 * 144 + 2 * 240 of dense layers and 5 * 24 of attention.
    with (tmp_path / "out" / "history.csv").open(newline="") as file:
        first, *_, figures = csv.DictReader(file)
    assert float(figures["loss"]) < float(first["loss"])
    num_layers = config.num_hidden_layers
    bilstm = 2 * 4 * 7 * ((12 + 7) + (14 + 7))
    head = (144 + 12 * NUM_LABELS) / 5  # once per sentence of 5 tokens
    flops = float(figures["flops_per_second"])
    assert flops / float(figures["tokens_per_second"]) == pytest.approx(
        2 * (num_layers * (1056 + 120) + 3 * (bilstm + head))
    )


def _bilstms(weights, x, input_mask):
    """Computes each row by itself, without padding, in float64."""
    output = np.zeros((*x.shape[:2], 2 * UNITS))
    for row, length in enumerate(input_mask.sum(1)):
        y = x[row, :length]
        for i in range(2):
            forward = _lstm(weights, f"bilstm_{i}/forward_lstm/lstm_cell", y)
            backward = _lstm(
                weights, f"bilstm_{i}/backward_lstm/lstm_cell", y[::-1]
            )
            y = np.concatenate([forward, backward[::-1]], axis=-1)
        output[row, :length] = y
    return output


def _lstm(weights, name, x):
    kernel, recurrent, bias = (
        weights[f"{name}/{part}"].astype("float64")
        for part in ("kernel", "recurrent_kernel", "bias")
    )
    hidden = cell = np.zeros(UNITS)
    outputs = []
    for token in x:
        i, f, c, o = np.split(token @ kernel + hidden @ recurrent + bias, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = f * cell + i * np.tanh(c)
        hidden = o * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs)


def _dense(weights, name, x):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
