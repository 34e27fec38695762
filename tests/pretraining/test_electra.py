"""Pre-training with replaced tokens (ELECTRA, arXiv 2003.10555)."""

import csv
import dataclasses
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from conftest import write_vocab
from directional_derivatives import directional_derivatives
from safetensors.numpy import load_file

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.layers.pretraining_heads import SampledTokens
from keras_bert.models import (
    build_classifier,
    build_discriminator,
    build_electra,
)
from keras_bert.pretraining import run
from keras_bert.pretraining.config import PretrainingConfig
from keras_bert.pretraining.run import pretrain
from keras_bert.training.losses import (
    replaced_tokens_accuracy,
    replaced_tokens_loss,
)

NETWORK = BertConfig(
    vocab_size=31,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=40,
    max_position_embeddings=16,
    family="electra",
    pooler_act="gelu_erf",
    embedding_size=10,
)
CONFIG = PretrainingConfig(
    learning_rate=0.003,
    train_batch_size=8,
    eval_batch_size=8,
    save_checkpoints_steps=2,
    num_train_steps=6,
    num_warmup_steps=1,
    max_seq_length=14,
    max_predictions_per_seq=3,
    next_sentence=False,
    replaced_tokens=True,
    generator_size=0.5,
)


def _batch():
    rng = np.random.default_rng(5)
    ids = rng.integers(5, 31, [3, 9]).astype("int32")
    ids[:, [2, 6]] = 4  # [MASK]
    return {
        "input_ids": ids,
        "input_mask": (np.arange(9) < [[9], [9], [7]]).astype("int32"),
        "segment_ids": np.zeros([3, 9], "int32"),
        "masked_lm_positions": np.array([[2, 6, 0]] * 3, "int32"),
        "masked_lm_ids": np.array([[7, 9, 0]] * 3, "int32"),
    }


def test_the_generator_replaces_masked_tokens_only():
    layer = SampledTokens()
    batch = _batch()
    logits = np.zeros([3, 3, 31], "float32")
    logits[:, :, 9] = 100  # always the same guess
    inputs = [batch[x] for x in batch if x.endswith(("input_ids", "positions"))]
    tokens, labels = layer(*inputs, batch["masked_lm_ids"], logits)
    expected = batch["input_ids"].copy()
    expected[:, [2, 6]] = 9
    np.testing.assert_array_equal(tokens, expected)
    # The guess at place 2 is wrong, and that at place 6 right.
    np.testing.assert_array_equal(labels, np.eye(9)[[2, 2, 2]])


def test_tokens_are_drawn_with_their_probabilities():
    layer, count = SampledTokens(), 20_000
    ids, places = (
        np.ones([1, count + 1], "int32"),
        np.arange(1, count + 1)[None],
    )
    logits = np.tile(np.log([0.1, 0.2, 0.7]), [1, count, 1])
    shares = []
    for training in (True, True, False, False):
        tokens, _ = layer(ids, places, places * 0, logits, training=training)
        tokens = tokens.numpy()[0, 1:]
        shares.append(tokens)
        share = np.bincount(tokens, minlength=3) / count
        np.testing.assert_allclose(share, [0.1, 0.2, 0.7], atol=0.015)
    assert not np.array_equal(*shares[:2])
    np.testing.assert_array_equal(*shares[2:])  # in evaluation


def test_loss_and_accuracy():
    logits, labels = np.array([2.0, -1.0, 0.5, -3.0]), np.array([1, 0, 0, 1.0])
    outputs = tf.constant(np.stack([logits, labels], -1), tf.float32)
    chance = 1 / (1 + np.exp(-logits))
    expected = -np.log(np.where(labels == 1, chance, 1 - chance))
    loss = replaced_tokens_loss(None, outputs)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    found = replaced_tokens_accuracy(None, outputs).numpy().tolist()
    assert found == [1, 1, 0, 0]


def test_both_networks_share_the_embeddings_and_nothing_else():
    model = build_electra(NETWORK, generator_size=0.5)
    paths = {w.path for w in model.weights if "seed" not in w.path}
    generator = {x for x in paths if x.startswith("generator_")}
    discriminator = build_discriminator(NETWORK)
    assert paths - generator == {
        w.path for w in discriminator.weights if "seed" not in w.path
    }
    shapes = {w.path: tuple(w.shape) for w in model.weights}
    assert shapes["generator_layer_1/attention/query/kernel"] == (12, 12)
    assert shapes["generator_flatten_tokens/projection/kernel"] == (10, 12)
    assert shapes["generator_masked_lm/transform/kernel"] == (12, 10)
    assert shapes["flatten_tokens/projection/kernel"] == (10, 24)
    assert config_of_network(model) == NETWORK


def test_gradients_are_those_of_finite_differences():
    config = dataclasses.replace(
        NETWORK, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model, batch = build_electra(config, generator_size=0.5), _batch()
    rng = np.random.default_rng(7)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(0.1, 0.4, weight.shape))

    def loss():
        outputs = model(batch)
        lm = outputs["masked_lm"][:, 0, 3] + outputs["masked_lm"][:, 1, 8]
        found = replaced_tokens_loss(None, outputs["replaced_tokens"])
        return tf.reduce_sum(lm) + tf.reduce_sum(found)

    expected, found = directional_derivatives(
        loss, model.trainable_weights, rng, size=2e-4
    )
    assert found == pytest.approx(expected, rel=0.02)


def _run(records, vocab_file, folder, **changes):
    config = dataclasses.replace(CONFIG, **changes)
    figures = pretrain(
        NETWORK,
        [records],
        folder,
        eval_files=[records],
        vocab_file=vocab_file,
        config=config,
    )
    arrays = load_file(Checkpoint.of(folder).file)
    rows = (folder / "history.csv").read_text().splitlines()
    return figures, arrays, list(csv.DictReader(rows))


@pytest.fixture(scope="module")
def run_of_6(records, tmp_path_factory):
    """The folder of a run, and what `_run` returns."""
    folder = tmp_path_factory.mktemp("electra")
    results = _run(records, write_vocab(folder), folder / "out")
    return folder / "out", *results


@pytest.mark.slow
def test_a_run_is_resumed_bit_for_bit(run_of_6, records, vocab_file, tmp_path):
    """It draws tokens in training and, between intervals, in evaluation."""
    output_dir, figures, whole, rows = run_of_6
    assert figures["val_loss"] == pytest.approx(
        figures["val_masked_lm_loss"]
        + 50 * figures["val_replaced_tokens_loss"],
        rel=1e-4,
    )
    # As if it had been killed in the interval after step 4.
    stopped = tmp_path / "stopped"
    shutil.copytree(output_dir, stopped)
    shutil.rmtree(stopped / "checkpoints/step-00000006")
    (stopped / "eval_results.json").unlink()
    _, resumed, again = _run(records, vocab_file, stopped)
    assert whole.keys() == resumed.keys()
    assert all(np.array_equal(whole[x], resumed[x]) for x in whole)
    same = ("step", "loss", "val_loss", "val_replaced_tokens_accuracy")
    assert [[r[x] for x in same] for r in rows] == [
        [r[x] for x in same] for r in again
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"pack_sequences": True},
        {"gradient_accumulation_steps": 2},
        {"precision": "bfloat16"},
        {"jit_compile": "on"},
    ],
)
def test_ways_to_train(records, vocab_file, tmp_path, changes):
    figures, *_ = _run(records, vocab_file, tmp_path / "out", **changes)
    assert 0 < figures["val_replaced_tokens_loss"] < 1


@pytest.mark.slow
def test_two_replicas(records, vocab_file, tmp_path, mirrored, monkeypatch):
    monkeypatch.setattr(run, "get_strategy", lambda config: mirrored)
    figures, *_ = _run(records, vocab_file, tmp_path / "out")
    assert 0 < figures["val_replaced_tokens_loss"] < 1


@pytest.mark.slow
def test_the_discriminator_is_fine_tuned_and_written_for_transformers(
    run_of_6, tmp_path, caplog
):
    output_dir, _, arrays, _ = run_of_6
    model = build_classifier(NETWORK, num_labels=3)
    load_checkpoint(model, output_dir)
    for weight in model.get_layer("layer_1").weights:
        if "seed" not in weight.path:
            np.testing.assert_array_equal(weight, arrays[weight.path])
    convert_checkpoint(output_dir, tmp_path / "hub", to="huggingface")
    assert "Leaving out generator_flatten_tokens, generator_la" in caplog.text
    values = json.loads((tmp_path / "hub/config.json").read_text())
    assert values["architectures"] == ["ElectraForPreTraining"]
    assert values["embedding_size"] == 10
    discriminator = build_discriminator(Checkpoint.of(tmp_path / "hub").config)
    load_checkpoint(discriminator, tmp_path / "hub")
    features = {x: _batch()[x] for x in discriminator.input}
    before = build_discriminator(NETWORK)
    load_checkpoint(before, output_dir)
    np.testing.assert_allclose(
        discriminator(features)["replaced_tokens"],
        before(features)["replaced_tokens"],
        atol=1e-6,
    )


def test_the_discriminator_of_transformers(shared):
    folder = shared / "golden/families/electra/ElectraForPreTraining"
    values = np.load(folder / "expected.npz")
    model = build_discriminator(Checkpoint.of(folder).config)
    load_checkpoint(model, folder)
    features = {
        "input_ids": values["input_ids"].astype("int32"),
        "input_mask": values["attention_mask"].astype("int32"),
        "segment_ids": values["token_type_ids"].astype("int32"),
    }
    is_token = values["attention_mask"] == 1
    got = model(features)["replaced_tokens"].numpy()
    want = values["logits"]
    np.testing.assert_allclose(got[is_token], want[is_token], atol=2e-5)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="set next_sentence to False"):
        PretrainingConfig(replaced_tokens=True)
    with pytest.raises(InputError, match="generator_size is 1.5"):
        build_electra(NETWORK, generator_size=1.5)
