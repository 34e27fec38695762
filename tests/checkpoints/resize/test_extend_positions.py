"""New positions are copies of the old ones; nothing else changes."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.resize.checkpoint import extend_positions

POSITIONS = "embeddings/position_embeddings"


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "old", config)


def test_positions_are_copied_over_and_over(pretrained, config, tmp_path):
    extend_positions(pretrained, tmp_path / "new", 37)
    old = load_file(pretrained / "model.safetensors")
    new = load_file(tmp_path / "new" / "model.safetensors")
    assert old.keys() == new.keys()
    assert old[POSITIONS].shape == (16, 12)
    assert new[POSITIONS].shape == (37, 12)
    for position in range(37):
        np.testing.assert_array_equal(
            new[POSITIONS][position], old[POSITIONS][position % 16]
        )
    for path in old.keys() - {POSITIONS}:
        np.testing.assert_array_equal(new[path], old[path], path)
    assert Checkpoint.of(tmp_path / "new").config == dataclasses.replace(
        config, max_position_embeddings=37
    )
    settings = (tmp_path / "new" / "tokenizer_config.json").read_text()
    assert json.loads(settings)["model_max_length"] == 37
    assert (tmp_path / "new" / "vocab.txt").read_bytes() == (
        pretrained / "vocab.txt"
    ).read_bytes()


def test_the_network_runs_on_longer_texts(pretrained, tmp_path):
    """64 copies of 16 tokens: each copy sees the same as 16 tokens alone."""
    extend_positions(pretrained, tmp_path / "new", 1024)
    encoder = load_pretrained(tmp_path / "new", max_seq_length=1024).encoder
    ids = np.arange(16, dtype="int32")[None] + 5
    ones = np.ones_like(ids)
    short = {"input_ids": ids, "input_mask": ones, "segment_ids": 0 * ones}
    long = {name: np.tile(x, 64) for name, x in short.items()}
    copies = encoder(long)["sequence_output"].numpy().reshape(64, 16, 12)
    expected = encoder(short)["sequence_output"].numpy()
    np.testing.assert_allclose(copies, np.tile(expected, (64, 1, 1)), atol=1e-5)


@pytest.mark.parametrize("number", [16, 9, -3])
def test_fewer_positions_are_refused(pretrained, tmp_path, number):
    with pytest.raises(ValueError, match=f"is {number}, but .* has 16 already"):
        extend_positions(pretrained, tmp_path / "new", number)
    assert not list(tmp_path.glob("*new*"))
