import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.io.input_files import open_text
from keras_bert.io.resumable_file import ResumableFile

TEXTS = ["one\n", "zwölf\n", "\udc80\n"]


def _write(path):
    """Also what the process does that is killed."""
    file = ResumableFile(path)
    for number in range((file.state or {"next": 0})["next"], len(TEXTS)):
        file.append(TEXTS[number], {"next": number + 1})
    file.finish()


# The process ends without notice before the change of a file number argv[2];
# what it writes to a file may already be there in part.
_KILLED = """
import gzip, json, os, pathlib, shutil, sys

left = int(sys.argv[2])
sys.path[:0] = sys.argv[3:]

def dying(function):
    def call(*args, **kwargs):
        global left
        if not left:
            os._exit(9)
        left -= 1
        return function(*args, **kwargs)
    return call

from test_resumable_file import _write
for module, name in (
    (pathlib.Path, "replace"),
    (pathlib.Path, "mkdir"),
    (pathlib.Path, "open"),
    (pathlib.Path, "write_text"),
    (pathlib.Path, "unlink"),
    (shutil, "rmtree"),
    (os, "fsync"),
):
    setattr(module, name, dying(getattr(module, name)))
_write(sys.argv[1])
"""


def test_the_file_is_written(tmp_path):
    for name in ("a.jsonl", "a.jsonl.gz"):
        _write(tmp_path / "new folder" / name)
    plain, packed = sorted((tmp_path / "new folder").iterdir())
    assert plain.read_text("utf-8") == "one\nzwölf\n\\udc80\n"
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_without_steps_is_empty(tmp_path, name):
    (tmp_path / name).write_text("before")
    ResumableFile(tmp_path / name).finish()
    with open_text(tmp_path / name, errors="strict") as lines:
        assert lines.read() == ""


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; give the name"):
        ResumableFile(tmp_path)


def test_a_kill_at_any_moment_changes_no_byte(tmp_path):
    """Each run is killed at a later change of a file than the run before."""
    path = tmp_path / "a.gz"
    _write(path)
    whole = path.read_bytes()
    path.unlink()
    search_path = [str(Path(__file__).parent), *sys.path]
    moment, code = 0, 9
    while code == 9:
        assert not path.exists() or path.read_bytes() == whole
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, path, str(moment), *search_path],
            capture_output=True,
            text=True,
        )
        code = done.returncode
        moment += 1
    assert code == 0, done.stderr
    assert moment > 10
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [
        ("a.gz", whole)
    ]
