"""Checkpoints of others, written here under the names that they use."""

import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from safetensors.numpy import save_file

from keras_bert.checkpoints.load import (
    checkpoint_folder,
    config_beside,
    load_checkpoint,
)
from keras_bert.models.classifier import build_classifier
from keras_bert.models.pretraining import build_pretraining_model


@pytest.fixture
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


def _google(ours):
    """Weights under the names of google-research/bert."""
    theirs = {
        "bert/embeddings/word_embeddings": "embeddings/word_embeddings",
        "bert/embeddings/position_embeddings": "embeddings/position_embeddings",
        "bert/embeddings/token_type_embeddings": (
            "embeddings/segment_embeddings"
        ),
        "cls/predictions/output_bias": "masked_lm/output_bias",
    }
    norms = {
        "bert/embeddings/LayerNorm": "embeddings/layer_norm",
        "cls/predictions/transform/LayerNorm": "masked_lm/layer_norm",
    }
    dense = {
        "bert/pooler/dense": "pooler/dense",
        "cls/predictions/transform/dense": "masked_lm/transform",
    }
    for i in range(2):
        there, here = f"bert/encoder/layer_{i}/", f"layer_{i}/"
        for name in ("query", "key", "value"):
            dense[f"{there}attention/self/{name}"] = f"{here}attention/{name}"
        dense[f"{there}attention/output/dense"] = f"{here}attention/output"
        dense[f"{there}intermediate/dense"] = f"{here}intermediate"
        dense[f"{there}output/dense"] = f"{here}output"
        norms[f"{there}attention/output/LayerNorm"] = (
            f"{here}attention_layer_norm"
        )
        norms[f"{there}output/LayerNorm"] = f"{here}output_layer_norm"
    for there, here in dense.items():
        theirs |= {f"{there}/{w}": f"{here}/{w}" for w in ("kernel", "bias")}
    for there, here in norms.items():
        theirs |= {f"{there}/{w}": f"{here}/{w}" for w in ("gamma", "beta")}
    arrays = {there: ours[here] for there, here in theirs.items()}
    arrays["cls/seq_relationship/output_weights"] = ours[
        "next_sentence/dense/kernel"
    ].T
    arrays["cls/seq_relationship/output_bias"] = ours[
        "next_sentence/dense/bias"
    ]
    assert len(arrays) == len(ours)
    return arrays


def _write_tf1(prefix, arrays):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(array) for array in arrays.values()],
    )


def _hugging_face(google):
    """Google's names -> those of transformers, kernels transposed."""
    arrays = {}
    for name, array in google.items():
        words = name.split("/")
        if words[-1] == "kernel" and "embeddings" not in words:
            words[-1], array = "weight", array.T
        words = [
            {"gamma": "weight", "beta": "bias"}.get(word, word)
            for word in words
        ]
        name = ".".join(words).replace("layer_", "layer.")
        name = name.replace("seq_relationship.output_", "seq_relationship.")
        name = name.replace(
            "seq_relationship.weights", "seq_relationship.weight"
        )
        name = name.replace("predictions.output_bias", "predictions.bias")
        if name.endswith("_embeddings"):
            name += ".weight"
        arrays[name] = np.ascontiguousarray(array)
    return arrays


def test_a_released_tf1_checkpoint(config, model, tmp_path):
    arrays = _google(_weights(model))
    slots = {f"{name}/adam_m": array for name, array in arrays.items()}
    slots["global_step"] = np.array(12)
    _write_tf1(tmp_path / "bert_model.ckpt", arrays | slots)
    for path in (tmp_path, tmp_path / "bert_model.ckpt"):
        _assert_loads(config, path, model)
        assert checkpoint_folder(path) == tmp_path


def test_a_variable_of_another_model_is_named(config, model, tmp_path):
    arrays = _google(_weights(model)) | {"albert/x": np.zeros(3, "f")}
    _write_tf1(tmp_path / "bert_model.ckpt", arrays)
    with pytest.raises(ValueError, match="albert/x, which is no weight of"):
        load_checkpoint(model, tmp_path)


@pytest.mark.parametrize("change", ["none", "no prefix", "old names"])
def test_a_hugging_face_file(config, model, tmp_path, change):
    arrays = _hugging_face(_google(_weights(model)))
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


def test_a_hugging_face_file_in_shards(config, model, tmp_path):
    arrays = _hugging_face(_google(_weights(model)))
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


def test_a_fine_tuned_head_is_turned_round(config, tmp_path):
    model = build_classifier(config, num_labels=5)
    randomize(model)
    ours = _weights(model)
    encoder = {k: v for k, v in ours.items() if "classifier" not in k}
    pretraining = build_pretraining_model(config)
    google = {
        name: array
        for name, array in _google(_weights(pretraining) | encoder).items()
        if not name.startswith("cls/")
    }
    google["output_weights"] = ours["classifier/kernel"].T
    google["output_bias"] = ours["classifier/bias"]
    _write_tf1(tmp_path / "model.ckpt-3", google)
    loaded = build_classifier(config, num_labels=5)
    load_checkpoint(loaded, tmp_path / "model.ckpt-3")
    for name, value in _weights(loaded).items():
        np.testing.assert_array_equal(value, ours[name], name)


def test_a_tensor_of_another_model_is_named(model, tmp_path):
    save_file({"decoder.weight": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="decoder.weight, which is no weight"):
        load_checkpoint(model, tmp_path)


def test_the_config_beside(config, tmp_path):
    theirs = json.loads(config.to_json()) | {"model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(theirs))
    assert config_beside(tmp_path).hidden_act == "gelu_erf"
    (tmp_path / "bert_config.json").write_text(config.to_json())
    assert config_beside(tmp_path) == config
