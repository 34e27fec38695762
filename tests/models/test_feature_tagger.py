import dataclasses

import keras
import numpy as np
import pytest
from conftest import B, S, randomize
from reference_bert import bert
from safetensors.numpy import save_file

from keras_bert.checkpoints.find import config_beside
from keras_bert.checkpoints.load import load_checkpoint, read_weights
from keras_bert.models.bilstm import (
    build_bilstm_classifier,
    build_bilstm_token_classifier,
)
from keras_bert.models.encoder import build_encoder
from keras_bert.models.feature_tagger import (
    FEATURES,
    build_feature_tagger,
    size_features,
)

NUM_LABELS, UNITS = 9, 6


@pytest.fixture
def config(config):
    return dataclasses.replace(config, num_hidden_layers=5)


@pytest.fixture
def features(features):
    del features["masked_lm_positions"]
    return features


def _weights(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def _softmax(x):
    return np.exp(x) / np.exp(x).sum()


def test_the_layers_and_the_numbers_of_features(config):
    assert {name: size_features(config, name) for name in FEATURES} == {
        "embeddings": (0, 12),
        "second_to_last": (4, 12),
        "last": (5, 12),
        "weighted_sum_last_four": (5, 12),
        "concat_last_four": (5, 48),
        "weighted_sum_all": (5, 12),
    }


@pytest.mark.parametrize("bilstm_size", [0, UNITS])
@pytest.mark.parametrize("features_name", FEATURES)
def test_equals_the_reference(config, features, features_name, bilstm_size):
    model = build_feature_tagger(
        config,
        num_labels=NUM_LABELS,
        features=features_name,
        bilstm_size=bilstm_size,
    )
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


# The others differ in the layers that are read, which is tested above.
_FEW = [
    pytest.param(
        name, marks=[] if name == "weighted_sum_all" else [pytest.mark.slow]
    )
    for name in FEATURES
]


@pytest.mark.parametrize("features_name", _FEW)
def test_save_and_load_is_identity(config, features, tmp_path, features_name):
    model = build_feature_tagger(
        config, num_labels=NUM_LABELS, features=features_name, bilstm_size=UNITS
    )
    randomize(model)
    model.save(tmp_path / "tagger.keras")
    loaded = keras.models.load_model(tmp_path / "tagger.keras")
    # Keras gives the weights of a loaded Bidirectional other names.
    encoder = {path for path in _weights(model) if "lstm" not in path}
    assert encoder <= _weights(loaded).keys()
    np.testing.assert_array_equal(
        loaded(features)["logits"], model(features)["logits"]
    )


def test_padding_changes_nothing(config, features):
    model = build_feature_tagger(
        config, num_labels=NUM_LABELS, bilstm_size=UNITS
    )
    randomize(model)
    padded = {k: np.pad(v, [[0, 0], [0, 4]]) for k, v in features.items()}
    np.testing.assert_allclose(
        model(padded)["logits"][:, :6],
        model(features)["logits"][:, :6],
        atol=1e-6,
    )


@pytest.mark.parametrize("features_name", _FEW)
def test_only_the_tagger_is_trained(config, features, features_name):
    config = dataclasses.replace(
        config, hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5
    )
    model = build_feature_tagger(
        config, num_labels=NUM_LABELS, features=features_name, bilstm_size=UNITS
    )
    parts = {weight.path.split("/")[0] for weight in model.trainable_weights}
    assert parts - {"layer_weights"} == {
        "bilstm_0",
        "bilstm_1",
        "token_classifier",
    }
    assert ("layer_weights" in parts) == ("weighted" in features_name)
    # The model has the whole encoder, under its own paths.
    encoder = {weight.path for weight in build_encoder(config).weights}
    frozen = {weight.path for weight in model.non_trainable_weights}
    assert encoder == frozen
    frozen = model.get_layer("frozen")
    for a, b in zip(
        frozen(features, training=True), frozen(features), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    # The dropout before the softmax is that of a trained encoder.
    logits = [model(features, training=True)["logits"] for _ in range(2)]
    assert np.abs(logits[0] - logits[1]).max() > 1e-3


def test_a_bilstm_on_a_trained_encoder(config, features):
    config = dataclasses.replace(config, directionality="left_to_right")
    tagger = build_bilstm_token_classifier(
        config, num_labels=NUM_LABELS, bilstm_size=UNITS
    )
    classifier = build_bilstm_classifier(
        config, num_labels=3, bilstm_size=UNITS
    )
    pooler = _weights(build_encoder(config).get_layer("pooler"))
    mask = features["input_mask"]
    for model, name in (
        (tagger, "token_classifier"),
        (classifier, "classifier"),
    ):
        assert len(model.trainable_weights) == len(model.weights)
        randomize(model)
        weights = _weights(model)
        x = bert(weights | pooler, config, features)["sequence_output"]
        x = _bilstms(weights, x, mask)
        if name == "classifier":
            lengths = mask.sum(1)
            assert lengths.tolist() == [7, 6]
            last = x[[0, 1], lengths - 1, :UNITS]
            x = np.concatenate([last, x[:, 0, UNITS:]], axis=-1)
        expected = _dense(weights, name, x)
        found = keras.ops.convert_to_numpy(model(features)["logits"])
        if name == "token_classifier":
            found, expected = found[mask == 1], expected[mask == 1]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_checkpoints_of_the_encoder_and_of_itself(config, features, tmp_path):
    encoder = build_encoder(config)
    randomize(encoder)
    file = tmp_path / "model.safetensors"
    save_file(_weights(encoder), file)
    models = []
    for name in ("embeddings", "weighted_sum_all"):
        model = build_feature_tagger(
            config, num_labels=NUM_LABELS, features=name, bilstm_size=UNITS
        )
        load_checkpoint(model, file)
        models.append(model)
        weights = _weights(model)
        for path, value in _weights(encoder).items():
            np.testing.assert_array_equal(weights[path], value)
    save_file(_weights(model), file)
    again = build_feature_tagger(
        config,
        num_labels=NUM_LABELS,
        features="weighted_sum_all",
        bilstm_size=UNITS,
    )
    load_checkpoint(again, file)
    np.testing.assert_array_equal(
        again(features)["logits"], model(features)["logits"]
    )


def test_a_real_checkpoint(shared):
    folder = shared / "data" / "checkpoints" / "all-MiniLM-L6-v2"
    model = build_feature_tagger(
        config_beside(folder),
        num_labels=NUM_LABELS,
        features="second_to_last",
        bilstm_size=UNITS,
    )
    load_checkpoint(model, folder)
    stored = read_weights(folder / "model.safetensors")
    weights = _weights(model)
    assert stored.keys() < weights.keys()
    for path, array in stored.items():
        np.testing.assert_array_equal(weights[path], array.read())


def test_features_that_do_not_exist(config):
    with pytest.raises(ValueError, match="'first' is not one of embeddings, "):
        build_feature_tagger(config, num_labels=3, features="first")
    small = dataclasses.replace(config, num_hidden_layers=3)
    with pytest.raises(ValueError, match="need four layers, .* has 3"):
        build_feature_tagger(small, num_labels=3)


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
