"""The kept blocks keep their weights, under new numbers."""

import dataclasses
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.resize.checkpoint import (
    extend_positions,
    keep_layers,
)
from keras_bert.checkpoints.resize.vocab import extend_vocab, trim_vocab
from keras_bert.errors import InputError
from keras_bert.export.convert import convert_checkpoint


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    config = dataclasses.replace(config, num_hidden_layers=3)
    return write_checkpoint(tmp_path_factory.mktemp("m") / "large", config)


def test_other_layers_go_and_all_else_stays(pretrained, tmp_path):
    keep_layers(pretrained, tmp_path / "new", [0, 2])
    old, new = (
        load_file(folder / "model.safetensors")
        for folder in (pretrained, tmp_path / "new")
    )
    expected = {
        path.replace("layer_2/", "layer_1/"): array
        for path, array in old.items()
        if not path.startswith("layer_1/")
    }
    assert new.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(new[path], array, path)
    assert Checkpoint.of(tmp_path / "new").config.num_hidden_layers == 2
    assert (tmp_path / "new" / "vocab.txt").is_file()


@pytest.mark.parametrize(
    "layers", [[], [2, 0], [1, 1], [3], [-1], [True], "0,1", 1], ids=str
)
def test_wrong_layers_are_refused(pretrained, tmp_path, layers):
    message = "ascending order, from 0 to 2: .* has 3"
    with pytest.raises(InputError, match=message):
        keep_layers(pretrained, tmp_path / "new", layers)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder, new: keep_layers(folder, new, [1]),
        lambda folder, new: extend_positions(folder, new, 40),
        lambda folder, new: trim_vocab(folder, new, ["b a"]),
        lambda folder, new: extend_vocab(folder, new, words=["abba"]),
        lambda folder, new: convert_checkpoint(folder, new, to="keras"),
    ],
)
def test_a_fine_tuned_model_keeps_its_task(pretrained, tmp_path, change):
    folder = tmp_path / "tuned"
    shutil.copytree(pretrained, folder)
    (folder / "task.json").write_text('{"kind": "classification"}')
    change(folder, tmp_path / "new")
    task = (tmp_path / "new" / "task.json").read_text()
    assert task == '{"kind": "classification"}'
