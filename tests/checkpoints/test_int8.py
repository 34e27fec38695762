"""Numbers of 8 bits: near the weights, and a quarter of the bytes."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.int8 import to_int8
from keras_bert.checkpoints.load import read_weights
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.names import StoredArray
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint


def test_weights_are_off_by_half_a_scale_at_most(config, tmp_path):
    folder = write_checkpoint(tmp_path / "m", config)
    (folder / "task.json").write_text("{}")
    convert_checkpoint(folder, tmp_path / "small", to="int8")
    file = tmp_path / "small" / "model.safetensors"
    stored, old = load_file(file), load_file(folder / "model.safetensors")
    read = read_weights(file)
    assert read.keys() == old.keys()
    for path, array in old.items():
        new = read[path].read()
        assert new.dtype == np.float32 and new.shape == read[path].shape
        if array.ndim == 1:
            np.testing.assert_array_equal(new, array)
            continue
        assert stored[path].dtype == np.int8
        axis = 0 if path.endswith("kernel") else 1  # of the numbers of a row
        scale = np.abs(array).max(axis=axis, keepdims=True) / 127
        assert np.all(np.abs(new - array) <= 0.501 * scale), path
        # A scale of all the array would be off by more somewhere.
        assert len(np.unique(stored[f"{path}.scale"])) > 1
    assert (tmp_path / "small" / "task.json").read_text() == "{}"
    encoder = load_pretrained(tmp_path / "small", max_seq_length=9).encoder
    for weight in encoder.weights:
        np.testing.assert_array_equal(weight, read[weight.path].read())


def test_a_row_of_zeros_stays():
    zeros = np.zeros((2, 3), "float32")
    arrays = to_int8({"table": StoredArray((2, 3), lambda: zeros)})
    assert not arrays["table"].read().any()
    assert np.isfinite(arrays["table.scale"].read()).all()


def test_a_scale_without_its_weight_is_refused(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file({"layer/kernel.scale": np.ones((1, 2), "float32")}, file)
    with pytest.raises(InputError, match="layer/kernel.scale, but no layer/k"):
        read_weights(file)


def test_numbers_of_another_package_are_refused(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file({"layer.weight": np.ones((2, 2), "int8")}, file)
    with pytest.raises(InputError, match="has layer.weight in 8 bits, as anot"):
        read_weights(file)
