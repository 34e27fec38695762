import gzip

import pytest
from file_kills import is_killed

from keras_bert.errors import InputError
from keras_bert.io.input_files import open_text
from keras_bert.io.resumable_file import ResumableFile

TEXTS = ["one\n", "zwölf\n", "\udc80\n"]


def _write(path):
    file = ResumableFile(path)
    for number in range((file.state or {"next": 0})["next"], len(TEXTS)):
        file.append(TEXTS[number], {"next": number + 1})
    file.finish()


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


@pytest.mark.slow
def test_a_kill_at_any_moment_changes_no_byte(tmp_path):
    """Each run is killed at a later change of a file than the run before."""
    path = tmp_path / "a.gz"
    _write(path)
    whole = path.read_bytes()
    path.unlink()
    moment = 0
    while is_killed(moment, lambda: _write(path)):
        assert not path.exists() or path.read_bytes() == whole
        moment += 1
    assert moment > 10
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [
        ("a.gz", whole)
    ]


@pytest.mark.parametrize("num_steps", [0, 1, 2])
def test_of_two_processes_one_is_refused(tmp_path, num_steps):
    """Whichever writes a part second, and whenever the first one ends."""
    path = tmp_path / "a.jsonl"
    first, second = ResumableFile(path), ResumableFile(path)
    for number, text in enumerate(TEXTS):
        if number == num_steps:
            second = ResumableFile(path)
        first.append(text, {"next": number + 1})
    with pytest.raises(InputError, match="Another process is writing .*.json"):
        second.append("other\n", {"next": num_steps + 1})
    first.finish()
    whole = path.read_bytes()
    if num_steps:
        with pytest.raises(InputError, match="Another process is writing"):
            second.append("other\n", {"next": num_steps + 1})
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]
    _write(path)
    assert path.read_bytes() == whole


def test_parts_without_their_beginning_are_not_continued(tmp_path):
    path = tmp_path / "a.jsonl"
    file = ResumableFile(path)
    file.append(TEXTS[0], {"next": 1})
    file.append(TEXTS[1], {"next": 2})
    (file.folder / "0").unlink()
    assert ResumableFile(path).state is None
    _write(path)
    assert path.read_text("utf-8") == "one\nzwölf\n\\udc80\n"
