import pytest

from keras_bert.errors import InputError
from keras_bert.pretraining.read.weighted_files import find_weighted_files


@pytest.fixture
def folder(tmp_path):
    for name in ("a1", "a2", "b"):
        (tmp_path / name).touch()
    return tmp_path


def test_names_and_globs_are_one_corpus_or_each_has_a_weight(folder):
    first, second, other = (str(folder / name) for name in ("a1", "a2", "b"))
    assert find_weighted_files(None) == find_weighted_files("") == []
    assert find_weighted_files([other, first]) == [([other, first], None)]
    assert find_weighted_files(f"{folder}/a*, {other}") == [
        ([first, second, other], None)
    ]
    assert find_weighted_files(f"{folder}/a*:0.7,{other}:3") == [
        ([first, second], 0.7),
        ([other], 3.0),
    ]


@pytest.mark.parametrize("weight", ["", ":0"])
def test_a_missing_weight_is_named(folder, weight):
    with pytest.raises(InputError, match=f"b{weight} has no weight above 0"):
        find_weighted_files(f"{folder}/a*:1,{folder}/b{weight}")
