"""torch_files/ was written by torch 2.13, in both of its formats."""

import os
import pickle
import shutil
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest

from keras_bert.checkpoints.pytorch_files import read_pytorch

FILES = Path(__file__).parent / "torch_files"
WHOLE = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("name", ["zip.bin", "legacy.bin"])
def test_what_torch_has_written(name):
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
        array = stored[key].read().astype("float32")
        np.testing.assert_array_equal(array, value, key)


@pytest.mark.parametrize("name", ["zip.bin", "legacy.bin"])
@pytest.mark.parametrize("kept", [0, 30, 700, -1])
def test_a_truncated_file_is_refused(tmp_path, name, kept):
    file = tmp_path / name
    file.write_bytes((FILES / name).read_bytes()[:kept])
    with pytest.raises(ValueError, match=f"{name} is not a whole PyTorch"):
        read_pytorch(file)


def test_damage_inside_a_storage_is_named_when_it_is_read(tmp_path):
    data = (FILES / "zip.bin").read_bytes()
    place = data.index(WHOLE.tobytes())
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(data[:place] + b"\x01" + data[place + 1 :])
    stored = read_pytorch(file)
    with pytest.raises(ValueError, match="not a whole PyTorch checkpoint"):
        stored["whole"].read()


class _Calls:
    """Pickled, it is a call of a function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def _as_zip(file, pickled):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)


def _as_legacy(file, pickled):
    numbers = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    file.write_bytes(b"".join(map(pickle.dumps, numbers)) + pickled)


@pytest.mark.parametrize("write", [_as_zip, _as_legacy])
@pytest.mark.parametrize(
    ("function", "named"),
    [
        (os.system, "posix.system"),
        (eval, "builtins.eval"),
        (shutil.rmtree, "shutil.rmtree"),
        (getattr, "builtins.getattr"),
    ],
)
def test_a_malicious_pickle_does_nothing(tmp_path, write, function, named):
    harmed = tmp_path / "harmed"
    victim = tmp_path / "victim"
    victim.mkdir()
    args = {
        os.system: f"touch {harmed}",
        eval: f"open({str(harmed)!r}, 'w')",
        shutil.rmtree: str(victim),
    }.get(function, harmed)
    # What it would have done.
    file = tmp_path / "pytorch_model.bin"
    write(file, pickle.dumps({"weight": _Calls(function, args)}))
    with pytest.raises(ValueError, match=f"{named}, which is no part of a"):
        read_pytorch(file)
    assert victim.is_dir() and not harmed.exists()


def test_plain_values_are_no_weights(tmp_path):
    file = tmp_path / "pytorch_model.bin"
    _as_zip(file, pickle.dumps({"epoch": 3}))
    with pytest.raises(ValueError, match="names 'epoch' as int, which is no"):
        read_pytorch(file)


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(0, (7,), (1,)), (4, (2, 2), (2, 1)), (-1, (2,), (1,)), (5, (3,), (-1,))],
)
def test_no_memory_beyond_a_storage_is_read(
    tmp_path, monkeypatch, offset, shape, strides
):
    torch = types.ModuleType("torch")
    torch._utils = types.ModuleType("torch._utils")

    class FloatStorage:
        __module__, __qualname__ = "torch", "FloatStorage"

    def _rebuild_tensor_v2():
        pass

    torch.FloatStorage = FloatStorage
    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    torch._utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", torch._utils)

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            if obj == "storage 0":
                return ("storage", FloatStorage, "0", "cpu", 6)
            return None

    tensor = _Calls(
        _rebuild_tensor_v2, "storage 0", offset, shape, strides, False, {}
    )
    file = tmp_path / "pytorch_model.bin"
    with (tmp_path / "data.pkl").open("wb") as opened:
        Pickler(opened).dump({"weight": tensor})
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(tmp_path / "data.pkl", "archive/data.pkl")
        archive.writestr("archive/data/0", WHOLE.tobytes())
    with pytest.raises(ValueError, match="larger than its storage"):
        read_pytorch(file)
