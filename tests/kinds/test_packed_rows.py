import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from keras_bert.kinds import network_calls
from keras_bert.kinds.network_calls import (
    call_in_pieces,
    call_on_texts,
    pack_choices,
    pack_texts,
)
from keras_bert.models.heads import build_classifier
from keras_bert.models.window_pooling import pool_windows
from keras_bert.text.packing import pad


def _texts(lengths):
    """Ids count from 10 in each text; segment 1 starts at its third token."""
    lengths = tf.convert_to_tensor(lengths, tf.int32)
    input_ids = tf.ragged.range(10, 10 + lengths)
    segment_ids = tf.cast(input_ids > 11, tf.int32)
    return {"input_ids": input_ids, "segment_ids": segment_ids}


def test_the_longest_texts_share_rows_with_the_shortest_ones():
    rows, places = pack_texts(_texts([3, 126, 2, 100, 4]))
    assert {x.dtype for x in rows.values()} == {tf.int32}
    rows = pad(rows)
    padding = [0] * 27
    ids = [
        [*range(10, 136), 10, 11, 12, 10, 11],
        [*range(10, 110), 10, 11, 12, 13, *padding],
    ]
    numbers = [
        [1] * 126 + [2] * 3 + [3] * 2,
        [2] * 100 + [3] * 4 + padding,  # the last text of a row is number 3
    ]
    segments = [
        [0, 0] + [1] * 124 + [0, 0, 1, 0, 0],
        [0, 0] + [1] * 98 + [0, 0, 1, 1, *padding],
    ]
    positions = [
        [*range(126), 0, 1, 2, 0, 1],
        [*range(100), 0, 1, 2, 3, *padding],
    ]
    assert {name: x.numpy().tolist() for name, x in rows.items()} == {
        "input_ids": ids,
        "segment_ids": segments,
        "input_mask": numbers,
        "position_ids": positions,
        "cls_positions": [[0, 126, 129], [0, 0, 100]],
    }
    outputs = tf.constant([["1", "0", "2"], ["absent", "3", "4"]])
    assert b"".join(tf.gather_nd(outputs, places).numpy()) == b"01234"


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
    assert pad(rows)["input_ids"].shape == shape
    assert len({tuple(place) for place in places.numpy()}) == len(lengths)


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
    expected = call_in_pieces(model, features)
    # Also if the rows go through the network one by one.
    monkeypatch.setattr(network_calls, "_TOKENS_PER_CALL", 1)
    outputs = call_on_texts(model)(features)
    np.testing.assert_allclose(outputs["logits"], expected["logits"], atol=1e-5)
    assert np.ptp(expected["logits"], axis=0).min() > 0.1


@pytest.fixture(scope="module")
def model(config):
    return build_classifier(config, num_labels=3)


def test_rows_of_several_texts_have_fewer_positions(model, monkeypatch):
    shapes = []
    monkeypatch.setattr(
        "keras_bert.kinds.network_calls.call_in_pieces",
        lambda model, rows: (
            shapes.append(pad(rows)["input_ids"].shape),
            call_in_pieces(model, rows),
        )[1],
    )
    call_on_texts(model)(_texts([16, *[3] * 15]))
    assert shapes == [(1, 61)]


def test_a_text_in_windows_needs_rows_of_its_own(model):
    ids = tf.ragged.constant([[2, 7, 3], [2, 3]], dtype=tf.int32)
    features = {"input_ids": ids, "segment_ids": tf.zeros_like(ids)}
    windows = {name: x[:, None] for name, x in features.items()}
    call = call_on_texts(pool_windows(model, "mean"))
    assert call(windows)["logits"].shape == (2, 3)


def test_rows_of_a_piece_may_all_have_fewer_texts(model, monkeypatch):
    """Of 11 texts in two rows, the first row has 5 and the second one 6."""
    monkeypatch.setattr(network_calls, "_TOKENS_PER_CALL", 1)
    features = _texts([14] * 11)
    rows, _ = pack_texts(features)
    assert [len(x) for x in rows["input_ids"].to_list()] == [70, 84]
    assert call_on_texts(model)(features)["logits"].shape == (11, 3)


def test_the_layers_are_those_of_the_network(model):
    call = call_on_texts(model)
    features = _texts([4, 6])
    before = call(features)["logits"]
    randomize(model)
    assert np.abs(call(features)["logits"] - before).max() > 0.01


def _packed(lengths, num_choices):
    packed = pack_choices(_texts(lengths), num_choices)
    assert {x.dtype for x in packed.values()} == {tf.int32}
    return {name: x.to_list() for name, x in packed.items()}


def test_choices_of_an_example_share_a_row():
    assert _packed([3, 1, 2, 2, 2, 4], 3) == {
        "input_ids": [
            [[10, 11, 12, 10, 10, 11]],
            [[10, 11, 10, 11, 10, 11, 12, 13]],
        ],
        "segment_ids": [[[0, 0, 1, 0, 0, 0]], [[0, 0, 0, 0, 0, 0, 1, 1]]],
        "input_mask": [[[1, 1, 1, 2, 3, 3]], [[1, 1, 2, 2, 3, 3, 3, 3]]],
        "position_ids": [[[0, 1, 2, 0, 0, 1]], [[0, 1, 0, 1, 0, 1, 2, 3]]],
        "cls_positions": [[[0, 3, 4]], [[0, 2, 4]]],
    }


def test_each_long_choice_has_its_own_row():
    lengths = [60, 80, 70, 50]
    packed = _packed(lengths, 2)
    assert packed["input_ids"] == [
        [list(range(10, 70)), list(range(10, 90))],
        [list(range(10, 80)), list(range(10, 60))],
    ]
    assert packed["input_mask"] == [
        [[1] * 60, [1] * 80],
        [[1] * 70, [1] * 50],
    ]
    assert packed["position_ids"][1][1] == list(range(50))
    assert packed["cls_positions"] == [[[0], [0]], [[0], [0]]]


@pytest.mark.parametrize(("longest", "num_rows"), [(80, 1), (81, 2)])
def test_choices_share_rows_of_up_to_128_tokens_on_average(longest, num_rows):
    packed = _packed([longest, 60, 60, 56], 2)
    assert [len(rows) for rows in packed["input_ids"]] == [num_rows] * 2


def test_choices_in_a_graph_for_any_number_of_choices():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([], tf.int32),
        ]
    )
    def pack(lengths, num_choices):
        packed = pack_choices(_texts(lengths), num_choices)
        names = ("input_mask", "cls_positions")
        return [packed[name].to_tensor() for name in names]

    mask, begins = pack([2, 1, 1, 1], 4)
    assert mask.numpy().tolist() == [[[1, 1, 2, 3, 4]]]
    assert begins.numpy().tolist() == [[[0, 2, 3, 4]]]
    mask, begins = pack([2, 1, 1, 1], 2)
    assert mask.numpy().tolist() == [[[1, 1, 2]], [[1, 2, 0]]]
    assert begins.numpy().tolist() == [[[0, 2]], [[0, 1]]]


def test_no_examples_with_choices():
    packed = _packed([], 4)
    assert set(map(str, packed.values())) == {"[]"}
