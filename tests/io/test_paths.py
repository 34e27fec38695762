import os
import pickle
from pathlib import Path

import fsspec
import pytest
import upath

from keras_bert.errors import InputError
from keras_bert.io.folders import local_copy
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import atomic_path


def test_a_local_name_is_a_local_path(tmp_path):
    for name in ("a/b", tmp_path, "a:b", "C:/a", f"file://{tmp_path}/x"):
        path = to_path(name)
        assert isinstance(path, Path) and not is_remote(path)
    assert path == tmp_path / "x"


def test_a_url_is_a_remote_path(store):
    url = f"{store}/run/a.txt"
    for given in (url, Path(url), upath.UPath(url)):
        path = to_path(given)
        assert is_remote(path)
        assert str(path) == str(pickle.loads(pickle.dumps(path))) == url


def test_other_processes_are_seen(remote, store):
    """A library would answer with an earlier list of the folder."""
    assert list(remote.glob("*")) == []
    (upath.UPath(str(remote), anon=False) / "a").write_text("1")
    assert [path.name for path in remote.glob("*")] == ["a"]


@pytest.mark.parametrize("url", ["nothing://bucket/run", "nothing:/bucket/run"])
def test_an_unknown_scheme_is_refused(url):
    with pytest.raises(InputError, match="nothing://bucket/run cannot be"):
        to_path(url)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "upath", None)
    with pytest.raises(
        InputError, match=r"pip install 'keras-bert-tf\[storage\]"
    ):
        to_path("s3://bucket/run")


def test_a_store_that_does_not_answer_is_named(store, monkeypatch):
    monkeypatch.setattr(
        type(to_path(store).fs), "exists", _raise_as_a_library_does
    )
    with pytest.raises(OSError, match=r"s3://bucket/run cannot be read \(no"):
        to_path("s3://bucket/run")


def _raise_as_a_library_does(*args):
    raise RuntimeError("no answer")


def test_a_missing_bucket_is_named(store):
    with pytest.raises(OSError, match="s3://none/run cannot be read .The spec"):
        to_path("s3://none/run")
    assert not fsspec.filesystem("s3").exists("none")


def test_a_path_that_cannot_be_written_is_named(remote, monkeypatch):
    monkeypatch.setattr(remote.fs, "put_file", _raise_as_a_library_does)
    with (
        pytest.raises(OSError, match=r"/a cannot be written \(no answer\); ch"),
        atomic_path(remote / "a") as path,
    ):
        path.touch()


def test_a_copy_is_made_once_and_anew_after_a_change(remote):
    for name in ("a.txt", "inner/b.txt", "c.txt"):
        (remote / name).write_text("1")
    copy = local_copy(remote)
    assert {p.name for p in copy.rglob("*.txt")} == {"a.txt", "b.txt", "c.txt"}
    assert str(copy).endswith(remote.path)
    assert local_copy(remote) == copy
    (remote / "inner" / "b.txt").write_text("2")
    assert (local_copy(remote) / "inner" / "b.txt").read_text() == "2"


def test_named_files_are_copied_alone(remote):
    for name in ("a.txt", "b.txt"):
        (remote / name).write_text(name)
    copy = local_copy(remote, ["b.txt"])
    assert os.listdir(copy) == ["b.txt"]


def test_a_change_during_the_copy_is_seen(remote, monkeypatch):
    (remote / "a").write_text("1")
    get, texts = remote.fs.get, ["3", "2"]

    def get_and_change(*args):
        get(*args)
        if texts:
            (remote / "a").write_text(texts.pop())

    monkeypatch.setattr(remote.fs, "get", get_and_change)
    assert (local_copy(remote) / "a").read_text() == "3"


def test_old_copies_are_removed(remote):
    copies = []
    for number in range(6):
        (remote / "a").write_text(str(number))
        copies.append(local_copy(remote))
    assert [copy.exists() for copy in copies] == [False] * 2 + [True] * 4
    local = copies[-1].parents[1]
    assert local_copy(local) == local


def test_a_tilde_is_the_home_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert to_path("~/models") == tmp_path / "models"
