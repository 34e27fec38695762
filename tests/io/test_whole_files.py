import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keras_bert.io.whole_files import (
    atomic_path,
    remove,
    shared_path,
    to_json,
    whole_folder,
)


def test_a_file_appears_only_when_it_is_complete(folder):
    target = folder / "inner" / "file.txt"
    with atomic_path(target) as path:
        path.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert [x.name for x in target.parent.iterdir()] == ["file.txt"]


def test_a_failure_keeps_the_old_file(folder):
    target = folder / "file.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as path:
        path.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [x.name for x in folder.iterdir()] == ["file.txt"]


def test_a_file_does_not_replace_a_folder(folder):
    with atomic_path(folder / "inner") as path:
        path.mkdir()
        (path / "a").write_text("old")
    with (
        pytest.raises(IsADirectoryError, match="is a folder; give the name"),
        atomic_path(folder / "inner") as path,
    ):
        path.touch()
    assert (folder / "inner" / "a").read_text() == "old"


@pytest.mark.parametrize("num_renames", [0, 1, 2])
def test_a_kill_at_any_moment_leaves_a_whole_folder(
    tmp_path, monkeypatch, num_renames
):
    """The process ends before the last renames, and cleans nothing up."""
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").touch()
    rename, renames = Path.replace, []

    def rename_or_end(path, new_path):
        if len(renames) == num_renames:
            raise KeyboardInterrupt
        renames.append(path)
        return rename(path, new_path)

    monkeypatch.setattr(Path, "replace", rename_or_end)
    with monkeypatch.context() as patch:
        patch.setattr("keras_bert.io.whole_files.remove", lambda path: None)
        try:
            with atomic_path(target) as path:
                path.mkdir()
                (path / "new").touch()
        except KeyboardInterrupt:
            pass
    (found,) = whole_folder(target).iterdir()
    assert found.name == ("new" if num_renames == 2 else "old")

    monkeypatch.setattr(Path, "replace", rename)
    with atomic_path(target) as path:
        path.mkdir()
        (path / "newer").touch()
    assert [p.name for p in target.iterdir()] == ["newer"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.fixture
def link(tmp_path):
    """A link in `out` to the folder `disk/target`."""
    (tmp_path / "out").mkdir()
    (tmp_path / "disk" / "target").mkdir(parents=True)
    (tmp_path / "out" / "link").symlink_to(tmp_path / "disk" / "target")
    return tmp_path / "out" / "link"


def test_a_folder_behind_a_link_is_replaced(link):
    """Such as out/best, which a user moved to another disk."""
    target = link.resolve()
    for name in ("first", "second"):
        with atomic_path(link) as path:
            path.mkdir()
            (path / name).touch()
        assert link.is_symlink()
        assert [p.name for p in link.iterdir()] == [name]
        assert list(link.parent.iterdir()) == [link]
        assert list(target.parent.iterdir()) == [target]


def test_a_kill_leaves_a_whole_folder_behind_a_link(link):
    """Between the two renames, the link leads nowhere."""
    target = link.resolve()
    target.rename(target.with_name(".target.replaced"))
    assert whole_folder(link) == target.with_name(".target.replaced")


def test_a_link_to_a_folder_is_removed(link):
    target = link.resolve()
    remove(link)
    assert not link.is_symlink() and target.is_dir()


@pytest.mark.parametrize("write", [atomic_path, shared_path])
@pytest.mark.parametrize("exists", [True, False])
def test_a_file_behind_a_link_is_replaced(link, write, exists):
    target = link.resolve() / "file.txt"
    if exists:
        target.write_text("old")
    link.unlink()
    link.symlink_to(target)
    with write(link) as path:
        path.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


@pytest.fixture
def events(monkeypatch):
    """The names of what is synced and renamed, in order."""
    events = []
    sync, rename = os.fsync, Path.replace

    def recorded_sync(descriptor):
        events.append(f"sync {Path(f'/proc/self/fd/{descriptor}').resolve()}")
        sync(descriptor)

    def recorded_rename(path, new_path):
        events.append(f"rename to {new_path}")
        return rename(path, new_path)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_rename)
    return events


@pytest.mark.parametrize("write", [atomic_path, shared_path])
def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, events, write):
    """After a loss of power, a file would else be empty under its name."""
    target = tmp_path / "file"
    with write(target) as path:
        path.write_text("new")
    assert events == [f"sync {path}", f"rename to {target}", f"sync {tmp_path}"]


def test_a_folder_is_on_the_disk_before_the_old_one_goes(tmp_path, events):
    target = tmp_path / "folder"
    for _ in range(2):
        events.clear()
        with atomic_path(target) as path:
            (path / "inner").mkdir(parents=True)
            (path / "inner" / "file").touch()
    assert events == [
        f"sync {path}/inner/file",
        f"sync {path}/inner",
        f"sync {path}",
        f"rename to {tmp_path}/.folder.replaced",
        f"rename to {target}",
        f"sync {tmp_path}",
    ]


def test_json_has_no_numbers_that_are_not_finite():
    values = {"a": [float("nan"), 1.5], "b": {"c": (float("-inf"), 2)}}
    assert json.loads(to_json(values)) == {
        "a": [None, 1.5],
        "b": {"c": [None, 2]},
    }


def test_two_processes_may_write_one_file(tmp_path):
    """The second one begins before the first one is finished."""
    with shared_path(tmp_path / "file") as first:
        first.write_text("first")
        with shared_path(tmp_path / "file") as second:
            second.write_text("second")
        assert (tmp_path / "file").read_text() == "second"
    assert (tmp_path / "file").read_text() == "first"
    with pytest.raises(OSError), shared_path(tmp_path / "file") as third:
        third.write_text("third")
        raise OSError
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "first"


def test_threads_that_write_one_file_take_turns(tmp_path):
    target = tmp_path / "file.txt"

    def write(number):
        for _ in range(20):
            with atomic_path(target) as path:
                path.write_text(number * 999)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(write, "abc")) == 3 * [None]
    assert target.read_text() in [letter * 999 for letter in "abc"]
    assert list(tmp_path.iterdir()) == [target]
