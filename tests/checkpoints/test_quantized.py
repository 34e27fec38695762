"""Numbers of 8 and 4 bits: near the weights, and a quarter of the bytes."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.names import StoredArray
from keras_bert.checkpoints.quantized import (
    SCALES,
    dequantize,
    quantize,
)
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint


def test_weights_are_off_by_half_a_scale_at_most(config, tmp_path):
    folder = write_checkpoint(tmp_path / "m", config)
    (folder / "task.json").write_text("{}")
    convert_checkpoint(folder, tmp_path / "small", to="int8")
    file = tmp_path / "small" / "model.safetensors"
    stored, old = load_file(file), load_file(folder / "model.safetensors")
    read = Checkpoint.of(file).arrays
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
    arrays = quantize({"table": StoredArray((2, 3), lambda: zeros)})
    assert not arrays["table"].read().any()
    assert np.isfinite(arrays["table.scale"].read()).all()


def test_4_bits_keep_all_values_that_scales_can_give(config, tmp_path):
    folder = write_checkpoint(tmp_path / "m", config)
    file = folder / "model.safetensors"
    old = load_file(file)
    values = np.arange(-7, 8, dtype="float32")
    words = old["embeddings/word_embeddings"]
    scales = np.linspace(0.01, 0.3, len(words))[:, None]
    words[:] = scales * np.resize(values, words.shape[1])
    kernel = old["layer_0/output/kernel"]
    scales = np.linspace(0.01, 0.3, kernel.shape[1])
    kernel[:] = scales * np.resize(values, len(kernel))[:, None]
    save_file(old, file)
    convert_checkpoint(folder, tmp_path / "small", to="int4")
    read = Checkpoint.of(tmp_path / "small" / "model.safetensors").arrays
    for path, array in (
        ("embeddings/word_embeddings", words),
        ("layer_0/output/kernel", kernel),
    ):
        assert read[path].shape == array.shape
        np.testing.assert_allclose(read[path].read(), array, rtol=1e-6)


def test_4_bits_are_for_feed_forward_networks_alone():
    names = ["intermediate", "gate", "output"]
    names += ["attention/query", "attention/output"]
    ones = StoredArray((4, 6), lambda: np.ones((4, 6), "float32"))
    arrays = {f"layer_0/{name}/kernel": ones for name in names}
    stored = quantize(arrays, bits=4)
    in_4_bits = [x for x in stored if x.endswith(".scale_of_4_bits")]
    assert in_4_bits == [
        f"layer_0/{name}/kernel.scale_of_4_bits" for name in names[:3]
    ]
    dtypes = [str(stored[path].read().dtype) for path in arrays]
    assert dtypes == 3 * ["uint8"] + 2 * ["int8"]


def test_4_bits_cut_what_would_widen_the_scale_of_all():
    row = np.linspace(-1, 1, 384, dtype="float32")[None]
    row[0, 0] = -1.6
    path = "word_embeddings"
    stored = {path: StoredArray(row.shape, lambda: row)}
    arrays = dequantize(quantize(stored, bits=4), "")
    new = arrays[path].read()
    # The scale of the largest number would have an error of 1.6 / 7 / 12 ** .5.
    assert np.square(new - row).mean() < (1.3 / 7) ** 2 / 12
    assert new[0, 0] > -1.6


@pytest.mark.parametrize(
    ("ending", "shape", "scale"),
    [
        *(
            (ending, shape, scale)
            for ending in SCALES
            for shape, scale in (
                ((), (1, 2)),
                ((4,), (4, 1)),
                ((4, 2), (4, 2)),
                ((4, 2), (2, 1)),
            )
        ),
        (".scale_of_4_bits", (4, 2), (1, 2)),
    ],
)
def test_a_scale_that_fits_no_weight_is_refused(tmp_path, ending, shape, scale):
    arrays = {f"layer/kernel{ending}": np.ones(scale, "float32")}
    if shape:
        arrays["layer/kernel"] = np.ones(shape, "uint8")
    save_file(arrays, file := tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="but no layer/kernel of a match"):
        _ = Checkpoint.of(file).arrays


def test_numbers_of_another_package_are_refused(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file({"layer.weight": np.ones((2, 2), "int8")}, file)
    with pytest.raises(InputError, match="stores layer.weight as I8, beca"):
        _ = Checkpoint.of(file).arrays
