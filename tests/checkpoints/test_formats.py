"""Checkpoints of other libraries, written here under their names."""

import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from other_names import google, hugging_face, model_garden, write_tf1
from safetensors.numpy import save_file

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_classifier, build_token_classifier
from keras_bert.models.pretraining import build_pretraining_model


@pytest.fixture(scope="module")
def model(config):
    model = build_pretraining_model(config)
    randomize(model)
    return model


def _weights(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def _assert_loads(config, path, model):
    loaded = build_pretraining_model(config)
    load_checkpoint(loaded, path)
    expected = _weights(model)
    for name, value in _weights(loaded).items():
        np.testing.assert_array_equal(value, expected[name], name)


def test_a_released_tf1_checkpoint(config, model, tmp_path):
    arrays = google(_weights(model))
    slots = {f"{name}/adam_m": array for name, array in arrays.items()}
    slots["global_step"] = np.array(12)
    write_tf1(tmp_path / "bert_model.ckpt", arrays | slots)
    for path in (tmp_path, tmp_path / "bert_model.ckpt"):
        _assert_loads(config, path, model)
        assert Checkpoint.of(path).folder == tmp_path


def test_a_model_garden_checkpoint_of_named_variables(config, model, tmp_path):
    arrays = model_garden(_weights(model), config.num_attention_heads)
    shape = arrays["transformer/layer_1/self_attention/query/kernel"].shape
    assert shape == (12, 3, 4)
    write_tf1(tmp_path / "ckpt", arrays)
    _assert_loads(config, tmp_path / "ckpt", model)


@pytest.mark.parametrize("prefix", ["", "bert/"])
def test_a_model_garden_checkpoint_of_objects(config, model, tmp_path, prefix):
    arrays = model_garden(_weights(model), config.num_attention_heads)
    # The names are in the object graph only, not in the keys.
    layers = tf.Module()
    layers.layer_with_weights = [
        tf.Variable(
            array, name=prefix + name if name.startswith("cls/") else name
        )
        for name, array in arrays.items()
    ]
    optimizer = tf.Module()
    optimizer.learning_rate = tf.Variable(0.1, name="learning_rate")
    checkpoint = tf.train.Checkpoint(encoder=layers, optimizer=optimizer)
    checkpoint.save(str(tmp_path / "bert_model.ckpt"))
    _assert_loads(config, tmp_path, model)


def test_two_variables_with_one_name_are_refused(model, tmp_path):
    """One of them would be loaded, and the other lost."""
    towers = tf.Module()
    towers.variables_of_one_name = [tf.Variable(x, name="x") for x in "ab"]
    tf.train.Checkpoint(towers=towers).save(str(tmp_path / "bert_model.ckpt"))
    with pytest.raises(InputError, match="two variables with the name x, so"):
        load_checkpoint(model, tmp_path)


def test_two_checkpoints_in_a_folder(model, tmp_path):
    for step in (1, 2):
        write_tf1(tmp_path / f"model.ckpt-{step}", {"x": np.zeros(1)})
    with pytest.raises(FileNotFoundError, match="2 checkpoints; give the pref"):
        load_checkpoint(model, tmp_path)


@pytest.mark.parametrize(
    ("ending", "size"), [("data-00000-of-00001", -100), ("index", 4)]
)
def test_a_truncated_tf1_checkpoint_is_refused(model, tmp_path, ending, size):
    write_tf1(tmp_path / "bert_model.ckpt", google(_weights(model)))
    file = tmp_path / f"bert_model.ckpt.{ending}"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(InputError, match="not a complete TensorFlow check"):
        load_checkpoint(model, tmp_path)


def test_a_variable_of_another_model_is_named(config, model, tmp_path):
    arrays = google(_weights(model)) | {"albert/x": np.zeros(3, "f")}
    write_tf1(tmp_path / "bert_model.ckpt", arrays)
    with pytest.raises(ValueError, match="albert/x, which does not belong"):
        load_checkpoint(model, tmp_path)


@pytest.mark.parametrize("change", ["none", "no prefix", "old names"])
def test_a_hugging_face_file(config, model, tmp_path, change):
    arrays = hugging_face(google(_weights(model)))
    arrays["bert.embeddings.position_ids"] = np.arange(16)[None]
    arrays["cls.predictions.decoder.bias"] = arrays["cls.predictions.bias"]
    if change == "no prefix":
        arrays = {k.removeprefix("bert."): v for k, v in arrays.items()}
    if change == "old names":
        for new, old in (("weight", "gamma"), ("bias", "beta")):
            arrays = {
                k.replace(f"LayerNorm.{new}", f"LayerNorm.{old}"): v
                for k, v in arrays.items()
            }
    save_file(arrays, tmp_path / "model.safetensors")
    _assert_loads(config, tmp_path, model)


def test_a_decoder_of_its_own_is_refused(config, model, tmp_path):
    """Checkpoints with tie_word_embeddings: false have one."""
    arrays = hugging_face(google(_weights(model)))
    words = arrays["bert.embeddings.word_embeddings.weight"]
    file = tmp_path / "model.safetensors"
    save_file(arrays | {"cls.predictions.decoder.weight": words + 0}, file)
    _assert_loads(config, tmp_path, model)
    save_file(arrays | {"cls.predictions.decoder.weight": words + 1}, file)
    with pytest.raises(InputError, match="has a decoder that differs"):
        load_checkpoint(model, tmp_path)
    # An encoder does not need the head.
    load_checkpoint(build_encoder(config), tmp_path)
    with pytest.raises(InputError, match="masked_lm/decoder/kernel has no na"):
        (tmp_path / "bert_config.json").write_text(config.to_json())
        convert_checkpoint(tmp_path, tmp_path / "google", "google_tf1")


def test_a_hugging_face_file_in_shards(config, model, tmp_path):
    arrays = hugging_face(google(_weights(model)))
    names = sorted(arrays)
    weight_map = {}
    for shard in range(3):
        file = f"model-{shard + 1:05}-of-00003.safetensors"
        part = {name: arrays[name] for name in names[shard::3]}
        save_file(part, tmp_path / file)
        weight_map |= dict.fromkeys(part, file)
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map})
    )
    _assert_loads(config, tmp_path, model)
    part[names[0]] = arrays[names[0]]
    save_file(part, tmp_path / file)  # the same weight in two files
    _assert_loads(config, tmp_path, model)
    part[names[0]] = arrays[names[0]] + 1
    save_file(part, tmp_path / file)
    with pytest.raises(InputError, match=f"different values for {names[0]};"):
        load_checkpoint(model, tmp_path)


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"weight_map": 3}'])
def test_a_broken_index_is_refused(model, tmp_path, text):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ValueError, match="index.json .*copy it again"):
        load_checkpoint(model, tmp_path)


def test_a_fine_tuned_head_is_transposed(config, tmp_path):
    model = build_classifier(config, num_labels=5)
    randomize(model)
    ours = _weights(model)
    encoder = {k: v for k, v in ours.items() if "classifier" not in k}
    pretraining = build_pretraining_model(config)
    arrays = {
        name: array
        for name, array in google(_weights(pretraining) | encoder).items()
        if not name.startswith("cls/")
    }
    arrays["output_weights"] = ours["classifier/kernel"].T
    arrays["output_bias"] = ours["classifier/bias"]
    write_tf1(tmp_path / "model.ckpt-3", arrays)
    loaded = build_classifier(config, num_labels=5)
    load_checkpoint(loaded, tmp_path / "model.ckpt-3")
    for name, value in _weights(loaded).items():
        np.testing.assert_array_equal(value, ours[name], name)


@pytest.mark.parametrize(
    ("architecture", "build"),
    [
        ("BertForTokenClassification", build_token_classifier),
        ("BertForSequenceClassification", build_classifier),
    ],
)
def test_the_architecture_tells_which_head_a_classifier_is(
    config, tmp_path, architecture, build
):
    weights = google(_weights(build_pretraining_model(config)))
    arrays = hugging_face(
        {k: v for k, v in weights.items() if not k.startswith("cls/")}
    )
    arrays["classifier.weight"] = np.ones((5, 12), "f")
    arrays["classifier.bias"] = np.ones(5, "f")
    save_file(arrays, tmp_path / "model.safetensors")
    values = {"architectures": [architecture], "model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(values))
    for other in (build_token_classifier, build_classifier):
        model = other(config, num_labels=5)
        load_checkpoint(model, tmp_path)
        loaded = np.all(model.weights[-1].numpy() == 1)
        assert loaded == (other is build)


@pytest.mark.parametrize(
    ("write", "hidden_act"),
    [
        (lambda x: save_file(hugging_face(google(x)), "model.safetensors"),
         "gelu_erf"),
        (lambda x: save_file(x, "model.safetensors"), "gelu"),
        (lambda x: write_tf1("bert_model.ckpt", google(x)), "gelu"),
    ],
    ids=["huggingface", "ours", "google"],
)  # fmt: skip
def test_the_config_of_the_weights_format_is_read(
    config, model, tmp_path, monkeypatch, caplog, write, hidden_act
):
    """The same "gelu" is the tanh form in one file, the erf form in another."""
    monkeypatch.chdir(tmp_path)
    write(_weights(model))
    theirs = json.loads(config.to_json()) | {"model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(theirs))
    assert Checkpoint.of(tmp_path).config.hidden_act == "gelu_erf"
    (tmp_path / "bert_config.json").write_text(config.to_json())
    assert Checkpoint.of(tmp_path).config.hidden_act == hidden_act
    first, second = ("gelu", "gelu_erf")[:: 1 if hidden_act == "gelu" else -1]
    assert f"hidden_act is {first!r} and {second!r}" in caplog.text
    # pytorch-pretrained-bert has no config.json.
    (tmp_path / "config.json").unlink()
    assert Checkpoint.of(tmp_path).config.hidden_act == hidden_act
