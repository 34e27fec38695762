"""The model in the package: found by its name, small, and of use."""

from pathlib import Path

import numpy as np
import pytest

from keras_bert.checkpoints.adapters import BaseModel
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import SHIPPED
from keras_bert.vectors.embedder import load_embedder

FOLDER = Path(Checkpoint.of(SHIPPED).folder)
VECTORS = Path(__file__).parents[1] / "data" / "mini_en.npy"
TEXTS = [
    "A man is playing a guitar on the stage.",
    "Someone makes music in front of an audience.",
    "The stock market fell sharply on Monday.",
    "Bake the bread for forty minutes.",
]


@pytest.fixture(scope="module")
def vectors():
    return load_embedder(SHIPPED).embed(TEXTS)


def test_the_vectors_are_those_of_its_release(vectors):
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(vectors, np.load(VECTORS), atol=1e-4)


def test_the_text_of_like_meaning_is_the_nearest(vectors):
    cosines = vectors[1:] @ vectors[0]
    assert np.argmax(cosines) == 0
    assert cosines[0] > np.max(cosines[1:]) + 0.2


def test_it_is_below_10_mb_and_says_where_it_is_from():
    files = {file.name: file.stat().st_size for file in FOLDER.iterdir()}
    assert sum(files.values()) < 10_000_000
    assert {"LICENSE", "NOTICE", "README.md", "task.json"} <= files.keys()


def test_a_folder_of_this_name_comes_first(tmp_path, monkeypatch):
    assert BaseModel.of(SHIPPED, 1.0).base_checkpoint == SHIPPED
    monkeypatch.chdir(tmp_path)
    (tmp_path / SHIPPED).mkdir()
    with pytest.raises(FileNotFoundError, match=f"No checkpoint at {SHIPPED}"):
        Checkpoint.of(SHIPPED)
