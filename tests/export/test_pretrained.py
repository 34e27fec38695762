"""A pre-trained checkpoint as a SavedModel."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.export.mask_filler import fill_mask
from keras_bert.export.pretrained import (
    PretrainedExportConfig,
    export_pretrained,
)
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.predict.served_model import ServedModel
from keras_bert.text.tokenizer import BertTokenizer

_TEXTS = ["a [MASK] film", "the quick brown fox jumped over [MASK]", "", "dog"]


@pytest.fixture(scope="module")
def version(exported):
    return exported("encoder")


@pytest.fixture(scope="module")
def checkpoint(version):
    return version.parent.parent / "checkpoint"


@pytest.fixture(scope="module")
def loaded(version):
    return tf.saved_model.load(str(version))


def test_the_vectors_are_those_of_the_encoder(checkpoint, loaded):
    pretrained = load_pretrained(checkpoint, max_seq_length=9)
    features = pretrained.preprocessor(_TEXTS)
    expected = pretrained.encoder(features)
    tokens = expected["sequence_output"].numpy()
    mask = features["input_mask"].numpy()[:, :, None]
    outputs = loaded.signatures["embed"](text=tf.constant(_TEXTS))
    for name, vectors in {
        "cls": tokens[:, 0],
        "mean": (tokens * mask).sum(1) / mask.sum(1),
        "pooled": expected["pooled_output"],
    }.items():
        np.testing.assert_allclose(outputs[name], vectors, atol=1e-5)
    lengths = mask.sum((1, 2)).tolist()
    assert outputs["num_tokens"].numpy().tolist() == lengths
    assert lengths[1] == 9
    truncated = outputs["truncated"].numpy().tolist()
    assert truncated == [False, True, False, False]
    default = loaded.signatures["serving_default"](text=tf.constant(_TEXTS))
    np.testing.assert_array_equal(default["embedding"], outputs["cls"])
    of_ids = loaded.signatures["serve_ids"](**features)
    for name, values in expected.items():
        np.testing.assert_allclose(of_ids[name], values, atol=1e-5)


def test_the_guesses_are_those_of_the_network(checkpoint, config, loaded):
    """The second text is cut before its [MASK]."""
    model = build_pretraining_model(config)
    tokenizer = BertTokenizer(checkpoint / "vocab.txt")

    load_checkpoint(model, checkpoint)
    texts = ["a [MASK] film [MASK]", *_TEXTS[1:]]
    outputs = loaded.signatures["fill_mask"](text=tf.constant(texts))
    assert outputs["masks.pieces"].shape == (4, 2, 5)
    assert not outputs["masks.pieces"].numpy()[1:].any()
    assert not outputs["masks.probabilities"].numpy()[1:].any()
    ids = [[2, 6, 4, 23, 4, 3]]
    features = {
        "input_ids": np.array(ids, "int32"),
        "input_mask": np.ones((1, 6), "int32"),
        "segment_ids": np.zeros((1, 6), "int32"),
        "masked_lm_positions": np.array([[2, 4]], "int32"),
    }
    logits = model(features)["masked_lm"].numpy()[0]
    probabilities = tf.nn.softmax(logits).numpy()
    order = np.argsort(-probabilities, axis=1)[:, :5]
    best = np.take_along_axis(probabilities, order, 1)
    np.testing.assert_allclose(
        outputs["masks.probabilities"][0], best, atol=1e-6
    )
    pieces = [
        [x.decode() for x in row] for row in outputs["masks.pieces"][0].numpy()
    ]
    assert pieces == [tokenizer.tokens(row) for row in order]
    guesses = fill_mask(model, tokenizer, texts[0])
    assert [[piece for piece, _ in row] for row in guesses] == pieces
    np.testing.assert_allclose(
        [[p for _, p in row] for row in guesses], best, atol=1e-6
    )


def test_the_answer_has_an_object_for_each_mask(version):
    model = ServedModel(version, "fill_mask")
    first, second = model.answer([{"text": t} for t in _TEXTS[:2]])
    assert len(first["masks"]) == 1 and len(first["masks"][0]["pieces"]) == 5
    assert second["masks"] == [] and second["truncated"]


def test_a_text_that_is_too_long_to_fill_is_refused(config, vocab_file):
    model = build_pretraining_model(config)
    with pytest.raises(InputError, match="more than the 16 tokens"):
        fill_mask(model, BertTokenizer(vocab_file), "[MASK]" + " fox" * 20)


@pytest.fixture
def encoder_checkpoint(config, tmp_path):
    """A checkpoint without a pooler and without a masked-LM head."""

    def build(config):
        encoder = build_encoder(config)
        return keras.Model(encoder.input, encoder.output["sequence_output"])

    return write_checkpoint(tmp_path / "encoder", config, build=build)


@pytest.mark.slow
def test_an_encoder_without_heads(encoder_checkpoint, tmp_path):
    version = export_pretrained(
        encoder_checkpoint,
        tmp_path / "served",
        PretrainedExportConfig(normalize=True),
    )
    model = json.loads((version / "assets" / "model.json").read_text())
    assert "fill_mask" not in model["signatures"]
    assert model["max_seq_length"] == 16  # all positions, fewer than 128
    signatures = tf.saved_model.load(str(version)).signatures
    outputs = signatures["embed"](text=tf.constant(_TEXTS))
    assert "pooled" not in outputs
    for name in ("mean", "cls"):
        lengths = np.linalg.norm(outputs[name], axis=1)
        np.testing.assert_allclose(lengths, 1, atol=1e-6)
    with pytest.raises(InputError, match="has no pooler"):
        export_pretrained(
            encoder_checkpoint,
            tmp_path / "pooled",
            PretrainedExportConfig(pooling="pooled", max_seq_length=9),
        )
    assert not (tmp_path / "pooled").exists()


def test_an_embedder_is_exported_as_what_it_is(checkpoint, tmp_path):
    """As an encoder, it would lose its pooling and its prompts."""
    convert_checkpoint(
        checkpoint,
        tmp_path / "st",
        "sentence_transformers",
        settings={"pooling": "cls", "max_seq_length": 9},
    )
    with pytest.raises(InputError, match="is a model of the kind embedding; "):
        export_pretrained(
            tmp_path / "st",
            tmp_path / "served",
            PretrainedExportConfig(max_seq_length=9),
        )
    assert not (tmp_path / "served").exists()


def test_the_card_of_an_encoder(version, checkpoint):
    card = (version / "README.md").read_text()
    for line in (
        "- embedding: `12 numbers`",
        "- pooling: `cls`",
        "- hidden size: `12`",
        "- vocabulary: `31 word pieces of lower-cased text`",
        f"- checkpoint: `{checkpoint.name}`",
        "- longest sequence: `9 tokens`",
    ):
        assert line in card, line
