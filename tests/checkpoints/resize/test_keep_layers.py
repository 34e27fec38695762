"""The kept blocks keep their weights, under new numbers."""

import dataclasses

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.find import config_beside
from keras_bert.checkpoints.resize.checkpoint import keep_layers
from keras_bert.errors import InputError


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
    assert config_beside(tmp_path / "new").num_hidden_layers == 2
    assert (tmp_path / "new" / "vocab.txt").is_file()


@pytest.mark.parametrize(
    "layers", [[], [2, 0], [1, 1], [3], [-1], [True], "0,1", 1], ids=str
)
def test_wrong_layers_are_refused(pretrained, tmp_path, layers):
    with pytest.raises(InputError, match="rising order, from 0 to 2: .* has 3"):
        keep_layers(pretrained, tmp_path / "new", layers)
    assert not (tmp_path / "new").exists()
