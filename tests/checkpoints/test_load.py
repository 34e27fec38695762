import dataclasses

import numpy as np
import pytest
from conftest import randomize
from safetensors.numpy import load_file, save_file

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.load import load_checkpoint, load_to_train
from keras_bert.errors import InputError
from keras_bert.io.folders import MARKER, upload_folder
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_classifier
from keras_bert.models.pretraining import build_pretraining_model


@pytest.fixture
def checkpoint(config, tmp_path):
    model = build_pretraining_model(config)
    randomize(model)
    folder = tmp_path / "out" / "checkpoints" / "step-00000012"
    folder.mkdir(parents=True)
    save_file(
        {w.path: w.numpy() for w in model.weights}, folder / "model.safetensors"
    )
    return folder


def _assert_equal_in_both(model, arrays):
    weights = {w.path: w.numpy() for w in model.weights}
    shared = weights.keys() & arrays.keys()
    for path in shared:
        np.testing.assert_array_equal(weights[path], arrays[path])
    return shared


def test_a_path_may_be_an_output_dir_a_checkpoint_or_a_file(config, checkpoint):
    for name in ("step-00000003", "step-00000012-copy"):
        checkpoint.with_name(name).mkdir()
        (checkpoint.with_name(name) / "model.safetensors").touch()
    file = checkpoint / "model.safetensors"
    for path in (checkpoint.parent.parent, checkpoint, file):
        assert find_weights(path) == file
    model = build_pretraining_model(config)
    load_checkpoint(model, checkpoint)
    arrays = load_file(file)
    assert _assert_equal_in_both(model, arrays) == arrays.keys()


def test_heads_with_random_weights_are_named(config, checkpoint, caplog):
    arrays = load_file(checkpoint / "model.safetensors")
    load_checkpoint(build_encoder(config), checkpoint)
    assert not caplog.records  # two heads are left out, as always
    model = build_classifier(config, num_labels=3)
    load_checkpoint(model, checkpoint)
    assert len(_assert_equal_in_both(model, arrays)) == len(model.weights) - 2
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert (
        "model.safetensors has no classifier, so these weights stay random"
        in record.message
    )
    save_file(
        {path: x for path, x in arrays.items() if "pooler" not in path},
        checkpoint / "model.safetensors",
    )
    load_checkpoint(model, checkpoint)
    assert "has no classifier and no pooler, so these" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO", "absl"):
        load_to_train(model, checkpoint)
    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "random weights in the classifier and pooler" in record.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("layer_1/attention/query/bias"),
         "not have the model's weight layer_1/attention/query/bias"),
        (lambda a: a.update({"layer_2/output/bias": np.zeros(12, "f")}),
         "a weight that the model does not have: layer_2/output/bias"),
        (lambda a: a.update({"pooler/dense/bias": np.zeros(5, "f")}),
         r"pooler/dense/bias has shape \(5,\) in .*, but shape \(12,\) in t"),
        # Only a whole head may be absent.
        (lambda a: a.pop("pooler/dense/bias"),
         "not have the model's weight pooler/dense/bias"),
    ],
)  # fmt: skip
def test_any_other_difference_is_an_error(config, checkpoint, change, message):
    arrays = load_file(checkpoint / "model.safetensors")
    change(arrays)
    save_file(arrays, checkpoint / "model.safetensors")
    model = build_encoder(config)
    before = [w.numpy() for w in model.weights]
    with pytest.raises(ValueError, match=message):
        load_checkpoint(model, checkpoint)
    for weight, value in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


@pytest.mark.parametrize(
    ("values", "difference"),
    [
        ({"num_attention_heads": 2}, "num_attention_heads is 2 and 3"),
        ({"hidden_act": "gelu_erf"}, "hidden_act is 'gelu_erf' and 'gelu'"),
        ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05 and 1e-12"),
        ({"directionality": "left_to_right"}, "'left_to_right' and 'bidi'"),
        ({"hidden_dropout_prob": 0.3, "initializer_range": 0.1}, ""),
    ],
)
def test_what_the_shapes_of_the_weights_do_not_tell_is_compared(
    config, checkpoint, caplog, values, difference
):
    model = build_encoder(dataclasses.replace(config, **values))
    load_checkpoint(model, checkpoint)  # without a config
    assert not caplog.records
    (checkpoint / "bert_config.json").write_text(config.to_json())
    load_checkpoint(model, checkpoint)
    assert len(caplog.records) == bool(difference)
    assert difference in caplog.text


def test_the_working_directory_without_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="No checkpoint at"):
        find_weights(".")


def test_a_truncated_file_is_named(checkpoint):
    file = checkpoint / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="is not a complete safetensors file"):
        _ = Checkpoint.of(checkpoint).arrays


def test_a_kill_between_two_renames_does_not_hide_the_best(tmp_path):
    """Until the next run, the old best/ is called .best.replaced."""
    for name in (".best.replaced", "checkpoints/step-00000012"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        save_file({"x": np.zeros(1)}, folder / "model.safetensors")
    aside = tmp_path / ".best.replaced"
    assert find_weights(tmp_path) == aside / "model.safetensors"
    assert find_weights(tmp_path / "best") == aside / "model.safetensors"


@pytest.mark.slow
def test_a_checkpoint_may_be_on_a_store(checkpoint, remote):
    upload_folder(checkpoint, remote / "checkpoints" / checkpoint.name)
    half = remote / "checkpoints" / "step-00000013"
    (half / "model.safetensors").write_text("half")
    (half / MARKER).write_text("")
    arrays = load_file(checkpoint / "model.safetensors")
    for path in (str(remote), remote / "checkpoints" / checkpoint.name):
        found = Checkpoint.of(path).arrays
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name].read(), array, name)
    with pytest.raises(FileNotFoundError, match="with _PARTIAL is incomplete"):
        find_weights(half)
