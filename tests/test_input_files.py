import pytest

from keras_bert.input_files import expand_globs


def test_globs_are_expanded_in_order(tmp_path):
    for name in ("c.txt", "b.gz", "a.gz"):
        (tmp_path / name).touch()
    files = expand_globs(f"{tmp_path}/c.txt, {tmp_path}/*.gz")
    assert files == [f"{tmp_path}/{name}" for name in ("c.txt", "a.gz", "b.gz")]
    with pytest.raises(FileNotFoundError, match="No file matches"):
        expand_globs(f"{tmp_path}/*.csv")
