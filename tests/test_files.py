import pytest

from keras_bert.files import atomic_path


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "folder" / "file.txt"
    with atomic_path(target) as path:
        path.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_leaves_what_stood_there(tmp_path):
    target = tmp_path / "file.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as path:
        path.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_replaces_a_folder(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").touch()
    with atomic_path(target) as path:
        path.mkdir()
        (path / "new").touch()
    assert [p.name for p in target.iterdir()] == ["new"]


def test_no_file_takes_the_place_of_a_folder(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with (
        pytest.raises(IsADirectoryError, match="is a folder; give the name"),
        atomic_path(tmp_path / "folder") as path,
    ):
        path.touch()
    assert (tmp_path / "folder" / "inner").is_dir()
