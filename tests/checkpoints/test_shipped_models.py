"""The models in the package: found by their names, small, and of use."""

import sys
from pathlib import Path

import numpy as np
import pytest

from keras_bert.checkpoints.adapters import BaseModel
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import SHIPPED
from keras_bert.vectors.embedder import load_embedder

DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).parents[2]
NAMES = *SHIPPED, "mini_en_base"
# The first two mean nearly the same.
TEXTS = {
    "mini_en": [
        "A man is playing a guitar on the stage.",
        "Someone makes music in front of an audience.",
        "The stock market fell sharply on Monday.",
        "Bake the bread for forty minutes.",
    ],
    "mini_ko_en": [
        "한 남자가 무대에서 기타를 연주하고 있다.",
        "A man is playing a guitar on the stage.",
        "월요일에 주가가 크게 떨어졌다.",
        "Bake the bread for forty minutes.",
    ],
}
TEXTS["mini_en_base"] = TEXTS["mini_en"]
# The cosines of a multilingual E5 are all above 0.7.
MARGINS = {"mini_en": 0.2, "mini_en_base": 0.2, "mini_ko_en": 0.05}
MEGABYTES = {"mini_en": 10, "mini_en_base": 14, "mini_ko_en": 14}


@pytest.fixture(
    scope="module",
    params=[
        "mini_en",
        *(pytest.param(x, marks=pytest.mark.slow) for x in NAMES[1:]),
    ],
)
def name(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)  # has the package of mini_en_base
        yield request.param


@pytest.fixture(scope="module")
def vectors(name):
    return load_embedder(name).embed(TEXTS[name])


def test_the_vectors_are_those_of_its_release(name, vectors):
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(
        vectors, np.load(DATA / f"{name}.npy"), atol=1e-4
    )


def test_the_text_of_like_meaning_is_the_nearest(name, vectors):
    cosines = vectors[1:] @ vectors[0]
    assert np.argmax(cosines) == 0
    assert cosines[0] > np.max(cosines[1:]) + MARGINS[name]


def test_it_is_small_and_says_where_it_is_from(name):
    folder = Path(Checkpoint.of(name).folder)
    files = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert sum(files.values()) < MEGABYTES[name] * 1e6
    assert {"LICENSE", "NOTICE", "README.md", "task.json"} <= files.keys()


def test_a_folder_of_this_name_comes_first(name, tmp_path, monkeypatch):
    assert BaseModel.of(name, 1.0).base_checkpoint == name
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    with pytest.raises(FileNotFoundError, match=f"No checkpoint at {name}"):
        Checkpoint.of(name)


def test_a_model_that_is_not_installed_says_what_to_install(monkeypatch):
    elsewhere = [x for x in sys.path if Path(x).resolve() != ROOT]
    monkeypatch.setattr(sys, "path", elsewhere)
    with pytest.raises(FileNotFoundError, match="keras_bert_tf_mini_en_base"):
        Checkpoint.of("mini_en_base")
