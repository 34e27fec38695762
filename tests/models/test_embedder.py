"""The vectors of the network beside NumPy's, of one text after the other."""

import keras
import numpy as np
import pytest
from conftest import V, randomize
from reference_bert import bert
from scipy import stats

from keras_bert.errors import InputError
from keras_bert.models.embedder import build_embedder
from keras_bert.models.encoder import build_encoder

B, C, S, H = 2, 3, 7, 12
LENGTHS = np.array([[5, 7, 3], [2, 4, 6]])


@pytest.fixture
def features():
    """Texts [B, C, S], padded; a few have the second segment."""
    random = np.random.default_rng(8)
    mask = np.arange(S) < LENGTHS[..., None]
    features = {
        "input_ids": random.integers(1, V, (B, C, S)) * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(S) > 2) * mask,
    }
    return {name: x.astype("int32") for name, x in features.items()}


def _packed(features):
    """The texts of an example in one row."""
    packed = {
        "input_ids": np.zeros([B, 1, 16], "int32"),
        "input_mask": np.zeros([B, 1, 16], "int32"),
        "segment_ids": np.zeros([B, 1, 16], "int32"),
        "position_ids": np.zeros([B, 1, 16], "int32"),
        "cls_positions": np.zeros([B, 1, C], "int32"),
    }
    for b in range(B):
        begin = 0
        for c, length in enumerate(LENGTHS[b]):
            place = b, 0, slice(begin, begin + length)
            for name in ("input_ids", "segment_ids"):
                packed[name][place] = features[name][b, c, :length]
            packed["input_mask"][place] = c + 1
            packed["position_ids"][place] = np.arange(length)
            packed["cls_positions"][b, 0, c] = begin
            begin += length
    return packed


def _expected(weights, config, features, pooling, normalize):
    vectors = np.zeros([B, C, H])
    for b in range(B):
        for c, length in enumerate(LENGTHS[b]):
            text = {n: x[b, c, None, :length] for n, x in features.items()}
            outputs = bert(weights, config, text)
            tokens = outputs["sequence_output"][0]
            vector = {
                "mean": tokens.mean(axis=0),
                "cls": tokens[0],
                "max": tokens.max(axis=0),
                "pooled": outputs["pooled_output"][0],
            }[pooling]
            length = np.sqrt((vector**2).sum())
            vectors[b, c] = vector / length if normalize else vector
    return vectors


@pytest.mark.parametrize(
    ("pooling", "normalize"),
    [("mean", True), ("mean", False), ("cls", True), ("max", False)]
    + [("pooled", True)],
)
def test_vectors(config, features, pooling, normalize):
    encoder = build_encoder(config)
    randomize(encoder)
    weights = {w.path: w.numpy() for w in encoder.weights}
    expected = _expected(weights, config, features, pooling, normalize)
    for packed in (False, True):
        model = build_embedder(
            config, pooling=pooling, normalize=normalize, packed=packed
        )
        paths = {w.path for w in model.weights}
        absent = {p for p in weights if p.startswith("pooler/")}
        assert paths == weights.keys() - (
            set() if pooling == "pooled" else absent
        )
        for weight in model.weights:
            weight.assign(weights[weight.path])
        inputs = _packed(features) if packed else features
        vectors = model(inputs)["embeddings"]
        assert vectors.dtype == "float32"
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_dense_layers(config, features):
    layers = [(9, "relu"), (8, "gelu_erf"), (6, "tanh"), (5, "linear")]
    plain = build_embedder(config, normalize=False)
    randomize(plain)
    x = plain(features)["embeddings"].numpy()
    paths = {w.path: w.numpy() for w in plain.weights}
    model = build_embedder(config, dense=layers, normalize=False)
    randomize(model)
    activations = [
        lambda x: np.maximum(x, 0),
        lambda x: x * stats.norm.cdf(x),
        np.tanh,
        lambda x: x,
    ]
    weights = {w.path: w for w in model.weights}
    for i, activation in enumerate(activations):
        kernel, bias = (
            weights.pop(f"dense_{i}/{name}").numpy()
            for name in ("kernel", "bias")
        )
        x = activation(x @ kernel + bias)
    for path, weight in weights.items():
        weight.assign(paths[path])
    vectors = model(features)["embeddings"]
    assert vectors.shape == (B, C, 5)
    np.testing.assert_allclose(vectors, x, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "pooled"])
def test_a_saved_network_is_the_same(config, features, pooling, tmp_path):
    model = build_embedder(
        config, pooling=pooling, dense=[(5, "gelu_erf")], packed=True
    )
    randomize(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    inputs = _packed(features)
    np.testing.assert_array_equal(
        loaded(inputs)["embeddings"], model(inputs)["embeddings"]
    )


def test_an_unknown_pooling_is_refused(config):
    with pytest.raises(InputError, match="pooling is 'sum', but must be one"):
        build_embedder(config, pooling="sum")
