"""What Keras trained becomes a checkpoint, and its .keras file is one."""

import dataclasses
import zipfile

import keras
import numpy as np
import pytest
from conftest import randomize, write_vocab

import keras_bert
from keras_bert import models
from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.export.convert import convert_checkpoint
from keras_bert.kinds.registry import KINDS, get_kind
from keras_bert.models.lora import add_lora

LABELS = ["bad", "good", "so so"]
TEXTS = ["a good film", "the fox jumped over", "a bad, bad dog"]


@pytest.fixture
def tokenizer(vocab_file):
    return keras_bert.load_tokenizer(vocab_file=vocab_file)


@pytest.fixture(scope="module")
def odd_config(config):
    """Every value differs from the default."""
    return dataclasses.replace(
        config,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.3,
        type_vocab_size=3,
        initializer_range=0.3,
        layer_norm_eps=1e-5,
        directionality="left_to_right",
    )


def _weights(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def _assert_equal(model, expected):
    loaded = _weights(model)
    assert loaded.keys() == expected.keys()
    for path, value in expected.items():
        np.testing.assert_array_equal(loaded[path], value, path)


def test_from_fit_to_a_finetuned_model(odd_config, tokenizer, tmp_path):
    model = models.build_classifier(odd_config, num_labels=3)
    features = keras_bert.BertPreprocessor(tokenizer, 12)(TEXTS)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", {"logits": loss}, run_eagerly=True)
    model.fit(features, {"logits": np.arange(3)}, verbose=0)
    model.save(tmp_path / "model.keras")
    keras_bert.save_pretrained(
        model,
        tokenizer,
        tmp_path / "saved",
        text_fields="text",
        labels=LABELS,
        settings={"max_seq_length": 12},
    )
    loaded = keras_bert.load_finetuned(tmp_path / "saved")
    assert loaded.bert_config == odd_config
    _assert_equal(loaded.model, _weights(model))
    rows = [{"text": text} for text in TEXTS]
    logits = keras.ops.convert_to_numpy(model(features)["logits"])
    np.testing.assert_array_equal(loaded.model(features)["logits"], logits)
    scores = keras.ops.convert_to_numpy(keras.ops.softmax(logits))
    answers = loaded.predict(rows)
    np.testing.assert_allclose(
        [list(answer["scores"].values()) for answer in answers],
        scores,
        atol=1e-6,
    )
    # The .keras file beside the vocabulary, and with a task.json.
    write_vocab(tmp_path)
    (tmp_path / "task.json").write_bytes(
        (tmp_path / "saved/task.json").read_bytes()
    )
    _assert_equal(
        keras_bert.load_finetuned(tmp_path / "model.keras").model,
        _weights(model),
    )


_BUILDERS = {
    "encoder": models.build_encoder,
    "pretraining": models.build_pretraining_model,
    "classifier": lambda c: models.build_classifier(c, num_labels=3),
    "regressor": models.build_regressor,
    "choice": models.build_multiple_choice,
    "span": models.build_span_labeler,
    "tagger": lambda c: models.build_token_classifier(c, num_labels=3),
    "embedder": lambda c: models.build_embedder(
        c, pooling="cls", normalize=False, dense=[(5, "tanh")]
    ),
}
_TASKS = {
    "classifier": {"text_fields": ["a", "b"], "labels": LABELS},
    "regressor": {"text_fields": ["a"]},
    "choice": {"text_fields": ["a", "b"]},
    "span": {
        "text_fields": ["question", "context"],
        "settings": {"max_query_length": 4},
    },
    "tagger": {"text_fields": "words", "labels": ["O", "B-X", "I-X"]},
    "embedder": {
        "text_fields": ["a", "b"],
        "settings": {
            "pooling": "cls",
            "normalize": False,
            "dense": "5:tanh",
            "max_seq_length": 9,
        },
    },
}


@pytest.mark.parametrize("name", _BUILDERS)
def test_each_network(name, odd_config, tokenizer, tmp_path):
    model = _BUILDERS[name](odd_config)
    randomize(model)
    assert config_of_network(model) == odd_config
    keras_bert.save_pretrained(model, tokenizer, tmp_path / "plain")
    model.save(tmp_path / "model.keras")
    for checkpoint in (tmp_path / "plain", tmp_path / "model.keras"):
        loaded = _BUILDERS[name](odd_config)
        keras_bert.load_checkpoint(loaded, checkpoint)
        _assert_equal(loaded, _weights(model))
    if name in _TASKS:
        folder = tmp_path / "task"
        keras_bert.save_pretrained(model, tokenizer, folder, **_TASKS[name])
        loaded = keras_bert.load_finetuned(folder)
        _assert_equal(loaded.model, _weights(model))


@pytest.mark.slow
def test_a_keras_file_as_a_checkpoint(odd_config, vocab_file, tmp_path):
    odd_config = dataclasses.replace(odd_config, directionality="bidi")
    model = models.build_encoder(odd_config)
    randomize(model)
    (tmp_path / "new").mkdir()
    file = tmp_path / "new/alone.keras"
    model.save(file)
    with pytest.raises(FileNotFoundError, match="No vocab.txt"):
        keras_bert.load_pretrained(file)
    pretrained = keras_bert.load_pretrained(file, vocab_file=vocab_file)
    assert pretrained.config == odd_config
    _assert_equal(pretrained.encoder, _weights(model))
    embedder = keras_bert.load_embedder(
        file, vocab_file=vocab_file, max_seq_length=16
    )
    assert embedder.embed(TEXTS).shape == (3, 12)
    # Beside files of another model, those in the file count.
    (file.parent / "bert_config.json").write_text("{}")
    write_vocab(file.parent)
    assert keras_bert.load_pretrained(file).config == odd_config
    convert_checkpoint(file, tmp_path / "hf", "huggingface")
    again = keras_bert.load_pretrained(tmp_path / "hf")
    _assert_equal(again.encoder, _weights(model))


def test_adapters(config, tokenizer, tmp_path):
    model = models.build_classifier(config, num_labels=3)
    add_lora(model, 2, 4.0, "query,value")
    randomize(model)
    ids = np.array([[2, 5, 9, 3]])
    features = {"input_ids": ids, "input_mask": ids**0, "segment_ids": ids * 0}
    with pytest.raises(keras_bert.InputError, match="merge adapters"):
        keras_bert.save_pretrained(model, tokenizer, tmp_path / "saved")
    model.save(tmp_path / "model.keras")
    loaded = models.build_classifier(config, num_labels=3)
    keras_bert.load_checkpoint(loaded, tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded(features)["logits"], model(features)["logits"], atol=1e-5
    )


def test_what_is_refused(config, tokenizer, tmp_path):
    model = models.build_classifier(config, num_labels=3)
    embedder = models.build_embedder(config, pooling="max")
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    wide = dataclasses.replace(config, vocab_size=40)
    (tmp_path / "here").mkdir()
    pair = {"text_fields": ["a", "b"]}
    task = {"text_fields": "text", "labels": LABELS}
    for network, vocab, changes, message in (
        (None, tokenizer, {}, "is a NoneType, but a keras.Model was expected"),
        ("m.keras", tokenizer, {}, "is a str, but a keras.Model was expected"),
        (other, tokenizer, {}, "is not a network of keras_bert.models"),
        (model, None, {}, "The tokenizer is None; give a tokenizer"),
        (model, "vocab.txt", {}, "The tokenizer is 'vocab.txt'; give"),
        (model, tokenizer, {"output_dir": tmp_path / "here"}, "exists"),
        (model, tokenizer, {"labels": LABELS}, "without text_fields"),
        (model, tokenizer, {"kind": "reranker"}, "without text_fields"),
        (model, tokenizer, task | {"labels": "abc"}, "give a list of strings"),
        (
            model,
            tokenizer,
            task | {"labels": [0, 1, 2]},
            "One of the labels is 0",
        ),
        (model, tokenizer, task | {"labels": ["a", "b"]}, "classifier/bias"),
        (model, tokenizer, {"text_fields": "text"}, "at least two labels"),
        (
            model,
            tokenizer,
            task | {"settings": {"max_seq_length": 99}},
            "over the max_position_embeddings",
        ),
        (
            models.build_encoder(config),
            tokenizer,
            task,
            "has no output layer, which fits no known kind",
        ),
        (embedder, tokenizer, pair, "do not fit a model of the kind embed"),
        (models.build_encoder(wide), tokenizer, {}, "has 31 word pieces"),
    ):
        given = {"output_dir": tmp_path / "new"} | changes
        with pytest.raises(keras_bert.InputError, match=message):
            keras_bert.save_pretrained(network, vocab, **given)
        assert not (tmp_path / "new").exists()
    keras_bert.save_pretrained(
        embedder,
        tokenizer,
        tmp_path / "new",
        settings={"pooling": "max"},
        **pair,
    )


def test_a_keras_file_that_is_none_of_ours(config, tmp_path):
    encoder = models.build_encoder(config)
    file = tmp_path / "model.keras"
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(file)
    with pytest.raises(keras_bert.InputError, match="is not a network of"):
        keras_bert.load_checkpoint(encoder, file)
    models.build_encoder(dataclasses.replace(config, hidden_size=24)).save(file)
    with pytest.raises(keras_bert.InputError, match="belong to this checkp"):
        keras_bert.load_checkpoint(encoder, file)
    content = file.read_bytes()
    file.write_bytes(content[:1000])
    says = "not a complete .keras file"
    with pytest.raises(keras_bert.InputError, match=says):
        keras_bert.load_checkpoint(encoder, file)
    file.write_bytes(content)
    with zipfile.ZipFile(file) as archive:
        parts = {x: archive.read(x) for x in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            if name != "model.weights.h5":
                archive.writestr(name, part)
    with pytest.raises(keras_bert.InputError, match="Keras cannot load"):
        keras_bert.load_checkpoint(encoder, file)


@pytest.mark.slow
def test_the_kind_of_a_network(odd_config, tokenizer, tmp_path, monkeypatch):
    classification = get_kind("classification")
    monkeypatch.setitem(
        KINDS,
        "a_kind",  # the first one by name
        type("AKind", (classification,), {"name": "a_kind"}),
    )
    for name, kind, network, task in (
        ("classification", None, "classifier", _TASKS["classifier"]),
        ("a_kind", "a_kind", "classifier", _TASKS["classifier"]),
        ("regression", None, "regressor", {"text_fields": "a"}),
        ("reranker", "reranker", "regressor", {"text_fields": ["a", "b"]}),
    ):
        keras_bert.save_pretrained(
            _BUILDERS[network](odd_config),
            tokenizer,
            tmp_path / f"{name}",
            **task,
            kind=kind,
        )
        spec = keras_bert.load_finetuned(tmp_path / name).kind.spec
        assert spec.kind == name
