"""torch 2.13 wrote torch_files/, in both of its formats."""

import json
import os
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import randomize
from other_names import google, hugging_face

from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.read import read_pytorch
from keras_bert.models.pretraining import build_pretraining_model

FILES = Path(__file__).parent / "torch_files"
WHOLE = np.arange(6, dtype="float32").reshape(2, 3)
REFUSED = "is damaged, or contains objects other than tensors; copy it"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "is a PyTorch file, which only torch reads; run pip ins"),
        ("2.5.1", "cannot read .*zip.bin safely; install torch 2.6"),
    ],
)
def test_a_safe_torch_must_be_there(monkeypatch, version, message):
    torch = version and types.SimpleNamespace(__version__=version)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(ValueError, match=message):
        read_pytorch(FILES / "zip.bin")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["zip.bin", "legacy.bin"])
def test_files_written_by_torch(torch, name):
    stored = read_pytorch(FILES / name)
    expected = {
        "whole": WHOLE,
        "transposed": WHOLE.T,
        "row": WHOLE[1],
        "half": [0.5, -2.0],
        "bfloat16": [1.5, 3.0],
        "parameter": [7.0],
        "count": 9,
        "empty": np.zeros((0, 4)),
    }
    assert stored.keys() == expected.keys()
    for key, value in expected.items():
        assert stored[key].shape == np.shape(value)
        np.testing.assert_array_equal(stored[key].read(), value, key)


@pytest.mark.parametrize("name", ["zip.bin", "legacy.bin"])
@pytest.mark.parametrize("kept", [0, 30, 700, -1])
def test_a_truncated_file_is_refused(torch, tmp_path, name, kept):
    file = tmp_path / name
    file.write_bytes((FILES / name).read_bytes()[:kept])
    with pytest.raises(ValueError, match=f"{name} {REFUSED}"):
        read_pytorch(file)


def test_damage_inside_a_storage_is_named(torch, tmp_path):
    data = (FILES / "zip.bin").read_bytes()
    place = data.index(WHOLE.tobytes())
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(data[:place] + b"\x01" + data[place + 1 :])
    with pytest.raises(ValueError, match=REFUSED):
        read_pytorch(file)


class _Calls:
    """Is pickled as the call of a function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("as_zip", [True, False])
@pytest.mark.parametrize("function", [os.system, eval, shutil.rmtree, getattr])
def test_a_malicious_pickle_does_nothing(torch, tmp_path, as_zip, function):
    harmed = tmp_path / "harmed"
    victim = tmp_path / "victim"
    victim.mkdir()
    argument = {
        os.system: f"touch {harmed}",
        eval: f"open({str(harmed)!r}, 'w')",
        shutil.rmtree: str(victim),
    }.get(function, harmed)
    file = tmp_path / "pytorch_model.bin"
    torch.save(
        {"weight": _Calls(function, argument)},
        file,
        _use_new_zipfile_serialization=as_zip,
    )
    with pytest.raises(ValueError, match=REFUSED):
        read_pytorch(file)
    assert victim.is_dir() and not harmed.exists()


def test_plain_values_are_not_weights(torch, tmp_path):
    torch.save({"epoch": 3}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match=REFUSED):
        read_pytorch(tmp_path / "pytorch_model.bin")


@pytest.mark.parametrize("num_shards", [1, 2])
def test_a_folder_with_bin_files(torch, config, tmp_path, num_shards):
    model = build_pretraining_model(config)
    randomize(model)
    ours = {weight.path: weight.numpy() for weight in model.weights}
    tensors = {
        name: torch.tensor(array)
        for name, array in hugging_face(google(ours)).items()
    }
    weight_map = {}
    for shard in range(num_shards):
        file = f"pytorch_model-{shard + 1:05}-of-{num_shards:05}.bin"
        file = "pytorch_model.bin" if num_shards == 1 else file
        part = dict(list(tensors.items())[shard::num_shards])
        torch.save(part, tmp_path / file)
        weight_map |= dict.fromkeys(part, file)
    if num_shards > 1:
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": weight_map}))
    for weight in model.weights:
        weight.assign(weight * 0)
    load_checkpoint(model, tmp_path)
    for weight in model.weights:
        np.testing.assert_array_equal(weight.numpy(), ours[weight.path])
