import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from keras_bert.kinds import network_calls
from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.kinds.packed_texts import (
    call_on_texts,
    pack_texts,
    take_texts,
)
from keras_bert.models.bilstm import build_bilstm_classifier
from keras_bert.models.classifier import build_classifier
from keras_bert.models.window_pooling import pool_windows


def _texts(lengths):
    """Ids count from 10 in each text; segment 1 starts at its third token."""
    input_ids = tf.ragged.range(10, 10 + tf.constant(lengths, tf.int32))
    segment_ids = tf.cast(input_ids > 11, tf.int32)
    return {"input_ids": input_ids, "segment_ids": segment_ids}


def test_the_longest_texts_share_rows_with_the_shortest_ones():
    rows, places = pack_texts(_texts([3, 126, 2, 100, 4]))
    assert {x.dtype for x in rows.values()} == {tf.int32}
    padding = [0] * 27
    ids = [
        [*range(10, 136), 10, 11, 12, 10, 11],
        [*range(10, 110), 10, 11, 12, 13, *padding],
    ]
    numbers = [
        [1] * 126 + [2] * 3 + [3] * 2,
        [1] * 100 + [2] * 4 + padding,
    ]
    segments = [
        [0, 0] + [1] * 124 + [0, 0, 1, 0, 0],
        [0, 0] + [1] * 98 + [0, 0, 1, 1, *padding],
    ]
    assert {name: x.numpy().tolist() for name, x in rows.items()} == {
        "input_ids": ids,
        "segment_ids": segments,
        "input_mask": numbers,
    }
    outputs = tf.constant([["1", "0", "2"], ["3", "4", "absent"]])
    assert b"".join(take_texts(outputs, places).numpy()) == b"01234"


@pytest.mark.parametrize(
    ("lengths", "shape"),
    [
        ([], (0, 0)),
        ([5], (1, 5)),
        ([43] * 3, (2, 86)),
        ([200, 200], (2, 200)),
        ([300, 2, 2, 2, 3], (2, 304)),
    ],
)
def test_rows_are_as_long_as_the_longest_text_or_128_tokens(lengths, shape):
    rows, places = pack_texts(_texts(lengths))
    assert rows["input_ids"].shape == shape
    assert len(set(places.numpy())) == len(lengths)


@pytest.mark.parametrize("directionality", ["bidi", "left_to_right"])
def test_the_outputs_are_those_of_texts_in_rows_of_their_own(
    config, directionality, monkeypatch
):
    config = dataclasses.replace(config, directionality=directionality)
    model = build_classifier(config, num_labels=3)
    randomize(model)
    random = np.random.default_rng(1)
    lengths = random.integers(2, 17, 60)
    ids = random.integers(5, config.vocab_size, lengths.sum(), "int32")
    ids = tf.RaggedTensor.from_row_lengths(ids, lengths)
    features = {
        "input_ids": ids,
        "segment_ids": ids % config.type_vocab_size,
    }
    _, expected = call_in_pieces(model, features)
    # Also if the rows go through the network one by one.
    monkeypatch.setattr(network_calls, "_TOKENS_PER_CALL", 1)
    outputs = call_on_texts(model)(features)
    np.testing.assert_allclose(outputs["logits"], expected["logits"], atol=1e-5)
    assert np.ptp(expected["logits"], axis=0).min() > 0.1


def test_rows_of_several_texts_have_fewer_positions(config, monkeypatch):
    model = build_classifier(config, num_labels=3)
    shapes = []
    monkeypatch.setattr(
        "keras_bert.kinds.packed_texts.call_in_pieces",
        lambda model, rows: (
            shapes.append(rows["input_ids"].shape),
            call_in_pieces(model, rows),
        )[1],
    )
    call_on_texts(model)(_texts([16, *[3] * 15]))
    assert shapes == [(1, 61)]


def test_some_networks_need_a_row_for_each_text(config):
    """They read all tokens, or several rows a text."""
    config = dataclasses.replace(config, num_hidden_layers=1)
    ids = tf.ragged.constant([[2, 7, 3], [2, 3]], dtype=tf.int32)
    features = {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}
    model = build_bilstm_classifier(config, num_labels=3, bilstm_size=5)
    assert call_on_texts(model)(features)["logits"].shape == (2, 3)
    model = pool_windows(build_classifier(config, num_labels=3), "mean")
    windows = {name: x[:, None] for name, x in features.items()}
    assert call_on_texts(model)(windows)["logits"].shape == (2, 3)


def test_the_layers_are_those_of_the_network(config):
    model = build_classifier(config, num_labels=3)
    call = call_on_texts(model)
    features = _texts([4, 6])
    before = call(features)["logits"]
    randomize(model)
    assert np.abs(call(features)["logits"] - before).max() > 0.01
