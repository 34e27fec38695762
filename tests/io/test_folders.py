"""Files and folders on a store are whole or not there at all."""

import contextlib

from store_kills import Killed, killed_before

from keras_bert.io.folders import MARKER, claim_folder
from keras_bert.io.whole_files import (
    atomic_path,
    is_whole,
    remove,
    whole_folder,
)


def _write(folder, text):
    with atomic_path(folder) as path:
        path.mkdir()
        for name in ("a", "inner/b"):
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(text)


def _contents(folder):
    return {
        file.name: file.read_text()
        for file in folder.rglob("*")
        if file.is_file()
    }


def _whole(text):
    return {"a": text, "b": text}


def test_a_folder_that_others_copied_is_whole(remote):
    (remote / "a").write_text("copied")
    assert is_whole(remote)


def test_a_kill_at_any_moment_leaves_no_half_of_a_folder(remote, monkeypatch):
    for moment in range(4):
        folder = remote / str(moment)
        with (
            contextlib.suppress(Killed),
            killed_before(moment, folder.fs, monkeypatch),
        ):
            _write(folder, "new")
        assert is_whole(folder) == (moment == 3)
        _write(folder, "again")
        assert _contents(folder) == _whole("again")
    names = {path.name for path in remote.iterdir()}
    assert names == set(map(str, range(4)))


def test_a_kill_at_any_moment_leaves_the_old_folder_or_the_new(
    remote, monkeypatch
):
    """And so does a second kill, of the process that writes it again."""
    found = set()
    for moment in range(30):
        folder = remote / str(moment)
        _write(folder, "old")
        for text in ("new", "newer"):
            with (
                contextlib.suppress(Killed),
                killed_before(moment, folder.fs, monkeypatch),
            ):
                _write(folder, text)
            whole = whole_folder(folder)
            assert is_whole(whole)
            (text,) = set(_contents(whole).values())
            assert _contents(whole) == _whole(text)
            found.add(text)
        if _contents(folder) == _whole("newer") and not _contents(
            folder.with_name(f".{moment}.replaced")
        ):
            break
    assert found == {"old", "new", "newer"}
    assert 8 < moment < 29
    _write(folder, "last")
    assert {path.name for path in remote.glob("*")} >= {str(moment)}


def test_a_folder_that_is_half_removed_is_not_whole(remote, monkeypatch):
    for moment in range(3):
        folder = remote / str(moment)
        _write(folder, "old")
        with (
            contextlib.suppress(Killed),
            killed_before(moment, folder.fs, monkeypatch),
        ):
            remove(folder)
        assert is_whole(folder) == (moment == 0)
        remove(folder)
        assert not folder.exists()


def test_a_new_folder_is_claimed_once(remote):
    assert [claim_folder(remote) for _ in range(2)] == [True, False]
    (remote / MARKER).unlink()
    assert claim_folder(remote)


def test_a_process_that_is_as_fast_does_not_claim_it_too(remote, monkeypatch):
    """Neither sees the folder of the other before it makes its own."""
    monkeypatch.setattr(type(remote), "exists", lambda path: False)
    assert [claim_folder(remote) for _ in range(2)] == [True, False]
