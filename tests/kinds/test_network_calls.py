import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from keras_bert.kinds import network_calls
from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.models.heads import build_span_labeler
from keras_bert.text.packing import pad

_LENGTHS = [9, 4, 7, 9, 2, 5, 8]  # W=7 windows of up to S=9 tokens
_IS_TOKEN = np.arange(9) < np.array(_LENGTHS)[:, None]


@pytest.fixture
def features():
    random = np.random.default_rng(3)
    ids = random.integers(5, 31, sum(_LENGTHS), "int32")
    ids = tf.RaggedTensor.from_row_lengths(ids, _LENGTHS)
    return {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}


@pytest.fixture(scope="module")
def model(config):
    model = build_span_labeler(config)
    randomize(model)
    return model


class _Counting:
    """A network that keeps the shapes of the ids that it is called with."""

    def __init__(self, model):
        self.output = model.output
        self.shapes = []
        self._model = model

    def __call__(self, features):
        self.shapes.append(tuple(features["input_ids"].shape))
        return self._model(features)


@pytest.mark.parametrize(
    ("num_tokens", "sizes"),
    [(1, [1] * 7), (18, [2, 2, 3]), (35, [3, 4]), (63, [7]), (999, [7])],
)
def test_any_number_at_a_time_gives_the_same_outputs(
    model, features, monkeypatch, num_tokens, sizes
):
    expected = call_in_pieces(model, features)
    assert expected["start_logits"].shape == (7, 9)
    assert np.ptp(expected["start_logits"]) > 0.1
    monkeypatch.setattr(network_calls, "_TOKENS_PER_CALL", num_tokens)
    counting = _Counting(model)
    outputs = call_in_pieces(counting, features)
    assert [size for size, _ in counting.shapes] == sizes
    for name, values in expected.items():
        np.testing.assert_allclose(
            outputs[name][_IS_TOKEN], values[_IS_TOKEN], atol=1e-5
        )


def test_short_windows_are_not_padded_to_a_long_one(model):
    lengths = [3, 16, 3, 4, *[5] * 40, 15]
    ids = np.arange(sum(lengths), dtype="int32") % 26 + 5
    ids = tf.RaggedTensor.from_row_lengths(ids, lengths)
    counting = _Counting(model)
    features = {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}
    outputs = call_in_pieces(counting, features)["start_logits"]
    assert [length for _, length in counting.shapes] == [16, 5]
    assert sum(size for size, _ in counting.shapes) == len(lengths)
    for i in (0, 1, 3, 20, 44):  # each alone
        window = {name: x[i : i + 1] for name, x in features.items()}
        alone = model(pad(window))["start_logits"][0]
        np.testing.assert_allclose(outputs[i, : lengths[i]], alone, atol=1e-5)
        assert not np.any(outputs[i, 5:]) or lengths[i] > 5


@pytest.mark.slow
def test_the_same_in_a_saved_model(model, features, monkeypatch, tmp_path):
    expected = call_in_pieces(model, features)
    monkeypatch.setattr(network_calls, "_TOKENS_PER_CALL", 18)

    specs = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int64)]

    @tf.function(input_signature=specs, autograph=False)
    def call(flat, lengths):
        ids = tf.RaggedTensor.from_row_lengths(flat, lengths)
        ids = {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}
        return call_in_pieces(model, ids)

    module = tf.Module()
    module.model = model
    module.call = call
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    flat = features["input_ids"].flat_values
    outputs = loaded.call(flat, tf.constant(_LENGTHS, tf.int64))
    for name, values in outputs.items():
        np.testing.assert_allclose(
            values[_IS_TOKEN], expected[name][_IS_TOKEN], atol=1e-5
        )
    # One window of another length.
    outputs = loaded.call(flat[:5], tf.constant([5], tf.int64))
    assert outputs["end_logits"].shape == (1, 5)
