"""Which networks may read several texts in a row, decided by their graphs."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from keras import ops

from keras_bert.kinds.network_calls import call_in_pieces, call_on_texts
from keras_bert.layers.sequences import SequencePooling
from keras_bert.models.encoder import build_encoder
from keras_bert.models.rewired import can_pack


@pytest.fixture(scope="module")
def config(config):
    return dataclasses.replace(config, num_hidden_layers=1)


def _mean(encoder):
    tokens, mask = (
        encoder.output["sequence_output"],
        encoder.input["input_mask"],
    )
    return SequencePooling("mean")(tokens, mask, ops.zeros_like(mask[:, :1]))


def _pooled(encoder):
    return encoder.output["pooled_output"]


def _mean_and_pooled(encoder):
    mean = SequencePooling("mean")(
        encoder.output["sequence_output"], encoder.input["input_mask"]
    )
    return ops.concatenate([mean, _pooled(encoder)], axis=-1)


def _first_of_means(encoder):
    return _mean(encoder)[:, 0]


def _softmax_over_texts(encoder):
    return ops.softmax(_pooled(encoder), axis=1)


def _own_activation(encoder):
    def activation(x):
        return x - ops.mean(x, axis=1, keepdims=True)

    return keras.layers.Dense(12, activation=activation)(_pooled(encoder))


def _tokens(encoder):
    return encoder.output["sequence_output"]


def _max_of_tokens(encoder):
    is_token = encoder.input["input_mask"][:, :, None] > 0
    x = ops.where(is_token, encoder.output["sequence_output"], -1e9)
    return ops.concatenate([_pooled(encoder), ops.max(x, axis=1)], axis=-1)


def _times_length(encoder):
    mask = ops.cast(encoder.input["input_mask"], "float32")
    return _pooled(encoder) * ops.sum(mask, axis=1, keepdims=True)


def _lstm_before_the_pooling(encoder):
    mask = encoder.input["input_mask"]
    x = keras.layers.LSTM(12, return_sequences=True)(
        encoder.output["sequence_output"]
    )
    return SequencePooling("cls")(x, mask, ops.zeros_like(mask[:, :1]))[:, 0]


@pytest.mark.parametrize(
    ("vector", "can"),
    [
        (_pooled, True),
        (_mean, True),
        (_mean_and_pooled, True),
        (_first_of_means, False),
        (_softmax_over_texts, False),
        (_own_activation, False),
        (_max_of_tokens, False),
        (_times_length, False),
        (_lstm_before_the_pooling, False),
        (_tokens, False),
    ],
)
def test_no_way_from_the_tokens_to_an_output_avoids_a_pooling(
    config, vector, can
):
    encoder = build_encoder(config)
    logits = keras.layers.Dense(3)(vector(encoder))
    model = keras.Model(
        encoder.input, {"logits": logits, "pooled": _pooled(encoder)}
    )
    assert can_pack(model) == can
    # Again, because to look at a graph must not change it.
    assert can_pack(model) == can


@pytest.mark.parametrize(
    "vector",
    [
        _max_of_tokens,
        _times_length,
        _lstm_before_the_pooling,
        _softmax_over_texts,
    ],
)
def test_a_network_of_ones_own_answers_texts_as_one_by_one(config, vector):
    encoder = build_encoder(config)
    logits = keras.layers.Dense(3)(vector(encoder))
    model = keras.Model(encoder.input, {"logits": logits})
    randomize(model)
    ids = [[2, 7, 9, 3], [2, 3], [2, 8, 8, 11, 12, 3]]
    ids = tf.ragged.constant(ids, dtype=tf.int32)
    features = {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}
    texts = [
        {name: x[i : i + 1] for name, x in features.items()} for i in range(3)
    ]
    expected = [call_in_pieces(model, text)["logits"][0] for text in texts]
    np.testing.assert_allclose(
        call_on_texts(model)(features)["logits"], expected, atol=1e-5
    )
