"""torch 2.13 wrote torch_files/, in both of its formats.

torch itself reads the older one, from before its release 1.6.
"""

import collections
import importlib.util
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import types
import unittest.mock
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import randomize
from other_names import google, hugging_face

from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.pytorch_files import read_pytorch
from keras_bert.models.pretraining import build_pretraining_model

FILES = Path(__file__).parent / "torch_files"
WHOLE = np.arange(6, dtype="float32").reshape(2, 3)
_needs_torch = pytest.mark.skipif(
    not importlib.util.find_spec("torch"), reason="torch is not installed"
)
_NAMES = ["zip.bin", pytest.param("legacy.bin", marks=_needs_torch)]


@pytest.mark.parametrize("name", _NAMES)
def test_files_written_by_torch(name):
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


@pytest.mark.parametrize("name", _NAMES)
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
    """Is pickled as the call of a function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def _as_zip(file, pickled, storages=()):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for key in storages:
            archive.writestr(f"archive/data/{key}", storages[key].tobytes())


def _as_legacy(file, pickled, storages=()):
    numbers = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    parts = [pickle.dumps(number, protocol=2) for number in numbers]
    parts += [pickled, pickle.dumps([*storages], protocol=2)]
    for key in storages:
        parts += [storages[key].size.to_bytes(8, "little")]
        parts += [storages[key].tobytes()]
    file.write_bytes(b"".join(parts))


_LEGACY = pytest.param(_as_legacy, marks=_needs_torch)


@pytest.mark.parametrize("write", [_as_zip, _LEGACY])
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
    # The calls that the pickle asks for.
    file = tmp_path / "pytorch_model.bin"
    protocol = 4 if write is _as_zip else 2  # torch's, in old files
    write(file, pickle.dumps({"weight": _Calls(function, args)}, protocol))
    why = f"it names {named}" if write is _as_zip else "torch refuses it"
    with pytest.raises(ValueError, match=why):
        read_pytorch(file)
    assert victim.is_dir() and not harmed.exists()


def test_a_pickle_cannot_change_a_type(tmp_path):
    """A BUILD opcode on the real dtype would change it for the process."""
    file = tmp_path / "pytorch_model.bin"
    state = (3, ">", None, None, None, 6, 6, 0)  # big-endian, 6 bytes wide
    build = pickle.dumps(state, protocol=2)[:-1] + b"b."
    _as_zip(file, b"ctorch\nBFloat16Storage\n" + build)
    script = """
import sys
from pathlib import Path
import ml_dtypes, numpy as np
from keras_bert.checkpoints.pytorch_files import read_pytorch
try:
    read_pytorch(Path(sys.argv[1]))
except ValueError as error:
    print(error)
dtype = np.dtype(ml_dtypes.bfloat16)
print(dtype.itemsize, dtype.byteorder)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, file], capture_output=True, text=True
    )
    *_, message, dtype = done.stdout.splitlines()
    assert "is not a whole PyTorch checkpoint" in message
    assert dtype == "2 =", done.stderr


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (_as_zip, "'epoch' is of type int"),
        pytest.param(_as_legacy, "torch refuses it", marks=_needs_torch),
    ],
)
def test_plain_values_are_not_weights(tmp_path, write, why):
    file = tmp_path / "pytorch_model.bin"
    write(file, pickle.dumps({"epoch": 3}, protocol=2))
    with pytest.raises(ValueError, match=why):
        read_pytorch(file)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "a release of PyTorch before 1.6, which only torch reads; pip"),
        ((2, 5, 1), "does not read .*legacy.bin safely; install torch 2.6"),
    ],
)
def test_a_safe_torch_must_be_there_for_an_old_file(
    monkeypatch, version, message
):
    torch = version and types.SimpleNamespace(__version__=version)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(ValueError, match=message):
        read_pytorch(FILES / "legacy.bin")


@pytest.fixture
def write_bin():
    """Writes views of arrays as torch does, under torch's names."""
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
    modules = {"torch": torch, "torch._utils": torch._utils}

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            if isinstance(obj, np.ndarray):
                key = str(obj.ctypes.data)  # as torch: the place in memory
                self.storages[key] = obj
                view = [None] * (self.write is _as_legacy)
                return ("storage", FloatStorage, key, "cpu", obj.size, *view)
            return None

    def write(file, views, write=_as_zip):
        """`views`: (array, offset, shape, strides) by name."""
        pickled = io.BytesIO()
        pickler = Pickler(pickled, protocol=2)
        pickler.write = write
        pickler.storages = {}
        calls = {
            name: _Calls(
                _rebuild_tensor_v2, *view, False, collections.OrderedDict()
            )
            for name, view in views.items()
        }
        with unittest.mock.patch.dict(sys.modules, modules):
            pickler.dump(calls)
        write(file, pickled.getvalue(), pickler.storages)

    return write


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(0, (7,), (1,)), (4, (2, 2), (2, 1)), (-1, (2,), (1,)), (5, (3,), (-1,))],
)
def test_a_view_beyond_its_storage_is_refused(
    tmp_path, write_bin, offset, shape, strides
):
    file = tmp_path / "pytorch_model.bin"
    write_bin(file, {"weight": (WHOLE, offset, shape, strides)})
    with pytest.raises(ValueError, match="larger than its storage"):
        read_pytorch(file)


@pytest.mark.parametrize(
    ("write", "sizes"),
    [
        (_as_zip, [2, 1]),
        pytest.param(_as_legacy, [2, 1], marks=_needs_torch),
    ],
)
def test_tensors_that_tell_different_sizes_of_a_storage_are_refused(
    tmp_path, write_bin, write, sizes
):
    """The file holds the last one; the first may reach beyond its data."""
    views = {f"{n}": (WHOLE[:n], 0, (3 * n,), (1,)) for n in sizes}
    file = tmp_path / "pytorch_model.bin"
    write_bin(file, views, write)
    with pytest.raises(ValueError, match="not a whole PyTorch checkpoint"):
        [array.read() for array in read_pytorch(file).values()]


@_needs_torch
def test_torch_reads_a_storage_that_a_later_tensor_makes_larger(
    tmp_path, write_bin
):
    views = {f"{n}": (WHOLE[:n], 0, (3 * n,), (1,)) for n in (1, 2)}
    file = tmp_path / "pytorch_model.bin"
    write_bin(file, views, _as_legacy)
    for n, array in enumerate(read_pytorch(file).values(), 1):
        np.testing.assert_array_equal(array.read(), WHOLE[:n].ravel())


@pytest.mark.parametrize("write", [_as_zip, _LEGACY])
def test_views_of_one_storage(tmp_path, write_bin, write):
    views = {"all": (WHOLE, 0, (6,), (1,)), "row": (WHOLE, 3, (3,), (1,))}
    write_bin(tmp_path / "pytorch_model.bin", views, write)
    stored = read_pytorch(tmp_path / "pytorch_model.bin")
    np.testing.assert_array_equal(stored["all"].read(), WHOLE.ravel())
    np.testing.assert_array_equal(stored["row"].read(), WHOLE[1])


@pytest.mark.parametrize("num_shards", [1, 2])
def test_a_folder_with_bin_files(config, tmp_path, write_bin, num_shards):
    model = build_pretraining_model(config)
    randomize(model)
    ours = {weight.path: weight.numpy() for weight in model.weights}
    views = {}
    for name, array in hugging_face(google(ours)).items():
        strides = [n // array.itemsize for n in array.strides]
        views[name] = array, 0, array.shape, strides
    weight_map = {}
    for shard in range(num_shards):
        file = f"pytorch_model-{shard + 1:05}-of-{num_shards:05}.bin"
        file = "pytorch_model.bin" if num_shards == 1 else file
        part = dict(list(views.items())[shard::num_shards])
        write_bin(tmp_path / file, part)
        weight_map |= dict.fromkeys(part, file)
    if num_shards > 1:
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": weight_map}))
    for weight in model.weights:
        weight.assign(weight * 0)
    load_checkpoint(model, tmp_path)
    for weight in model.weights:
        np.testing.assert_array_equal(weight.numpy(), ours[weight.path])
