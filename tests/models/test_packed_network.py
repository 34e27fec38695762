"""Sequences in one row do not affect each other."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from conftest import V, randomize
from reference_bert import bert

from keras_bert.kinds import network_calls as choices
from keras_bert.layers.attention import SelfAttention
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_multiple_choice
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.read.pairs_to_batches import pack_sequences
from keras_bert.text.packing import pad
from keras_bert.training.losses import cross_entropy, weighted_mean

S, P = 16, 5
LENGTHS = np.array([5, 9, 16, 3, 7, 4, 6])
# The examples of each row.
ROWS = [[2], [1, 4], [6, 0, 5], [3]]


@pytest.fixture
def examples():
    """Returns examples as the reader does."""
    random = np.random.default_rng(6)
    size = len(LENGTHS)
    mask = np.arange(S) < LENGTHS[:, None]
    is_masked = np.arange(P) < (LENGTHS[:, None] + 2) // 3
    positions = random.integers(1, LENGTHS[:, None], (size, P))
    examples = {
        "input_ids": random.integers(5, V, (size, S)) * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(S) > LENGTHS[:, None] // 2) * mask,
        "masked_lm_positions": positions * is_masked,
        "masked_lm_ids": random.integers(5, V, (size, P)) * is_masked,
        "next_sentence_labels": random.integers(0, 2, (size, 1)),
    }
    examples = {name: x.astype("int32") for name, x in examples.items()}
    return examples | {"masked_lm_weights": is_masked.astype("float32")}


def _plain_and_packed(build, config, **kwargs):
    """Both networks, with the same weights."""
    plain, packed = (build(config, packed=p, **kwargs) for p in (False, True))
    randomize(plain)
    assert [w.path for w in packed.weights] == [w.path for w in plain.weights]
    packed.set_weights(plain.get_weights())
    return plain, packed


@pytest.mark.parametrize("directionality", ["bidi", "left_to_right"])
def test_equals_the_reference_on_each_sequence(
    config, examples, directionality
):
    config = dataclasses.replace(config, directionality=directionality)
    packed = build_encoder(config, packed=True)
    randomize(packed)
    features = pack_sequences(examples)
    outputs = packed({name: features[name] for name in packed.input})
    sequence_output, pooled_output = (
        outputs[name].numpy() for name in ("sequence_output", "pooled_output")
    )
    assert pooled_output.shape == (4, 3, config.hidden_size)
    weights = {weight.path: weight.numpy() for weight in packed.weights}
    for r, row in enumerate(ROWS):
        begin = 0
        for k, example in enumerate(row):
            length = LENGTHS[example]
            # Alone, without any padding.
            expected = bert(
                weights,
                config,
                {n: x[[example], :length] for n, x in examples.items()},
            )
            np.testing.assert_allclose(
                sequence_output[r, begin : begin + length],
                expected["sequence_output"][0],
                atol=1e-5,
            )
            np.testing.assert_allclose(
                pooled_output[r, k], expected["pooled_output"][0], atol=1e-5
            )
            begin += length


@pytest.mark.parametrize(
    ("directionality", "num_rows"), [("bidi", 1), ("left_to_right", 3)]
)
def test_the_score_of_a_choice_does_not_depend_on_its_row(
    config, examples, directionality, num_rows, monkeypatch
):
    if num_rows == 3:
        monkeypatch.setattr(choices, "TOKENS_PER_ROW", 0)
    config = dataclasses.replace(config, directionality=directionality)
    plain, packed = _plain_and_packed(build_multiple_choice, config)
    # Two examples of three choices.
    expected = plain(
        {name: examples[name][:6].reshape(2, 3, S) for name in plain.input}
    )["logits"]
    features = choices.pack_choices(
        {
            name: tf.RaggedTensor.from_tensor(examples[name][:6], LENGTHS[:6])
            for name in ("input_ids", "segment_ids")
        },
        num_choices=3,
    )
    features = pad(features)
    assert features["cls_positions"].shape == (2, num_rows, 3 // num_rows)
    logits = packed(features)["logits"]
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert np.ptp(expected) > 0.1  # otherwise their order would not matter


def test_loss_and_gradients_without_next_sentence(config, examples):
    """Equal to those of unpacked rows; test_packed_run has both losses."""
    networks = _plain_and_packed(
        build_pretraining_model,
        dataclasses.replace(config, directionality="left_to_right"),
        next_sentence=False,
    )
    found = []
    for model, features in zip(
        networks, (examples, pack_sequences(examples)), strict=True
    ):
        with tf.GradientTape() as tape:
            outputs = model({name: features[name] for name in model.input})
            loss = weighted_mean(
                cross_entropy(features["masked_lm_ids"], outputs["masked_lm"]),
                features["masked_lm_weights"],
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        found.append([*map(tf.convert_to_tensor, (loss, *gradients))])
        assert outputs.keys() == {"masked_lm"} and loss > 0.5
    for plain, packed in zip(*found, strict=True):
        np.testing.assert_allclose(packed, plain, atol=1e-5)


@pytest.mark.parametrize("left_to_right", [False, True])
def test_the_attention_matrix(left_to_right):
    """Found by changing the tokens of a row one by one."""
    numbers = np.array([[1, 1, 1, 2, 2, 3, 3, 3, 3, 0, 0]], "int32")
    size = numbers.shape[1]
    layer = SelfAttention(num_heads=3, left_to_right=left_to_right)
    layer = SelfAttention.from_config(layer.get_config())
    x = np.random.default_rng(8).normal(size=(size + 1, size, 12))
    x[:] = x[0]
    x[range(size), range(size)] += 1  # the last row stays
    numbers_of_rows = np.tile(numbers, (12, 1))
    x = x.reshape(-1, 12).astype("f")
    outputs = layer(x, numbers_of_rows, packed=True)
    outputs = outputs.numpy().reshape(size + 1, size, 12)
    # A matrix product may round the rows of a batch differently.
    change = np.abs(outputs[:-1] - outputs[-1]).max(-1)
    depends = change.T > 1e-5  # [S, T]
    expected = numbers.T == numbers
    if left_to_right:
        expected &= np.tri(size, dtype=bool)
    np.testing.assert_array_equal(depends, expected)


def test_a_sequence_does_not_change_its_neighbours(config, examples):
    """Compared bit for bit, through all layers."""
    model = build_encoder(config, packed=True)
    randomize(model)

    def outputs():
        features = pack_sequences(examples)
        return model({name: features[name] for name in model.input})

    before = outputs()
    # Example 0, the second in row 2, gets other word pieces everywhere.
    other = V + 4 - examples["input_ids"][0]
    examples["input_ids"][0] = other * examples["input_mask"][0]
    after = outputs()
    for name, place in (
        ("pooled_output", 1),
        ("sequence_output", slice(6, 6 + LENGTHS[0])),
    ):
        changed = (before[name] != after[name]).numpy().any(-1)
        expected = np.zeros_like(changed)
        expected[2, place] = True
        np.testing.assert_array_equal(changed, expected)
