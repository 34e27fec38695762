"""The kept blocks keep their weights, under new numbers."""

import dataclasses
import functools
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
from keras_bert.models.electra import build_electra
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_classifier
from keras_bert.models.pretraining import build_pretraining_model

build_whole_electra = functools.partial(build_electra, generator_size=1.0)


@pytest.fixture(scope="module")
def config(config):
    return dataclasses.replace(config, num_hidden_layers=3)


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "large", config)


@pytest.mark.parametrize("build", [build_encoder, build_whole_electra])
def test_other_layers_go_and_all_else_stays(build, config, tmp_path):
    """ELECTRA's generator keeps the same layers as its network."""
    large = write_checkpoint(tmp_path / "large", config, build=build)
    keep_layers(large, tmp_path / "new", [0, 2])
    old, new = (
        load_file(folder / "model.safetensors")
        for folder in (large, tmp_path / "new")
    )
    expected = {
        path.replace("layer_2/", "layer_1/"): array
        for path, array in old.items()
        if "layer_1/" not in path
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


def test_a_hub_model_loses_its_labels_with_a_warning(config, tmp_path, caplog):
    for head, builder in (
        ("classifier", lambda x: build_classifier(x, num_labels=3)),
        ("no task", build_pretraining_model),
    ):
        folder = tmp_path / head
        write_checkpoint(folder, config, build=builder)
        convert_checkpoint(folder, tmp_path / f"{head} hub", to="huggingface")
        keep_layers(tmp_path / f"{head} hub", tmp_path / f"{head} new", [1])
        is_told = "keeps its weights, but not its labels" in caplog.text
        assert is_told == (head == "classifier")
        caplog.clear()
