import json

import pytest

from keras_bert.pretraining.write import shards
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks
from keras_bert.pretraining.write.parts import Part
from keras_bert.pretraining.write.shards import RecordShards

LINES = "one two\n\nthree\nfour five\n\nsix\n\nseven eight nine\n\nten".split(
    "\n"
)
SETTINGS = {"seed": 5, "files": ["a", "b"], "max_seq_length": 9}


def _blocks(lines=LINES):
    return list(cut_blocks(lines, block_size=8))


def _run(folder, *, stop=None, settings=SETTINGS, lines=LINES):
    """Appends two stretches of each block; returns the numbers appended."""
    files = RecordShards([folder / "a", folder / "b"], settings)
    appended = []
    for block in (blocks := _blocks(lines)):
        if block.number == stop:
            return appended
        if not files.has(block):
            stretches = [f"<{block.number}.{i}>".encode() for i in range(2)]
            file = folder / "part"
            file.write_bytes(b"".join(stretches))
            counts = {"instances": block.number + 1}
            files.append(Part(block, file, [5, 5], counts))
            file.unlink()
            appended.append(block.number)
    counts = files.finish(blocks[-1])
    assert counts == {"instances": sum(range(len(blocks) + 1))}
    return appended


def _contents(folder):
    return (folder / "a").read_bytes(), (folder / "b").read_bytes()


EXPECTED = b"<0.0><1.1><2.0><3.1>", b"<0.1><1.0><2.1><3.0>"


def test_the_blocks_begin_in_turn_and_the_files_appear_at_the_end(tmp_path):
    assert _run(tmp_path, stop=2) == [0, 1]
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()
    assert _run(tmp_path) == [2, 3]
    assert _contents(tmp_path) == EXPECTED
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"a", "b", "a.json"}
    assert json.loads((tmp_path / "a.json").read_text())["is_complete"]


def test_a_block_that_was_half_written_is_written_anew(tmp_path):
    _run(tmp_path, stop=1)
    with (tmp_path / ".b.partial").open("ab") as file:
        file.write(b"<1.")
    assert _run(tmp_path) == [1, 2, 3]
    assert _contents(tmp_path) == EXPECTED


def test_a_lost_partial_file_is_made_from_the_start(tmp_path):
    _run(tmp_path, stop=2)
    (tmp_path / ".b.partial").unlink()
    assert _run(tmp_path) == [0, 1, 2, 3]
    assert _contents(tmp_path) == EXPECTED


def test_a_kill_before_the_last_name_is_given(tmp_path):
    _run(tmp_path)
    (tmp_path / "b").rename(tmp_path / ".b.partial")
    assert _run(tmp_path) == []
    assert _contents(tmp_path) == EXPECTED


def test_only_missing_files_are_made(tmp_path):
    _run(tmp_path)
    (tmp_path / "b").unlink()
    (tmp_path / "a").write_bytes(b"not touched")
    assert _run(tmp_path, stop=1) == [0]
    assert _run(tmp_path) == [1, 2, 3]
    assert _contents(tmp_path) == (b"not touched", EXPECTED[1])
    assert _run(tmp_path) == []


def test_a_kill_in_the_first_block_of_a_missing_file(tmp_path, monkeypatch):
    def killed(source, target, size):
        target.write(source.read(2))
        raise KeyboardInterrupt

    _run(tmp_path)
    (tmp_path / "b").unlink()
    with monkeypatch.context() as patches:
        patches.setattr(shards, "_copy", killed)
        with pytest.raises(KeyboardInterrupt):
            _run(tmp_path)
    assert (tmp_path / ".b.partial").read_bytes() == b"<0"
    (tmp_path / "a").write_bytes(b"not touched")
    assert _run(tmp_path) == [0, 1, 2, 3]
    assert _contents(tmp_path) == (b"not touched", EXPECTED[1])


def test_other_settings_are_refused_where_the_files_are_there(tmp_path):
    _run(tmp_path)
    with pytest.raises(ValueError, match=r"a was made .*seed 5, now 6\); del"):
        _run(tmp_path, settings=SETTINGS | {"seed": 6})
    assert _contents(tmp_path) == EXPECTED


def test_names_that_cannot_all_be_files_are_refused_at_once(tmp_path):
    (tmp_path / "folder").mkdir()
    for names, message in (
        (["a", "folder"], "folder is a folder; give the name of a file"),
        (["a", "b", "folder/../a"], "Of the output files .*, two are the same"),
    ):
        with pytest.raises((OSError, ValueError), match=message):
            RecordShards([tmp_path / name for name in names], SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"no JSON", b"\xff"])
def test_a_json_of_something_else_is_kept(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match="a.json is not about records, and"):
        RecordShards([tmp_path / "a"], SETTINGS)
    assert (tmp_path / "a.json").read_bytes() == content


def test_an_interrupted_run_with_other_settings_is_begun_anew(tmp_path):
    _run(tmp_path, stop=2)
    assert _run(tmp_path, settings=SETTINGS | {"seed": 6}) == [0, 1, 2, 3]
    assert _contents(tmp_path) == EXPECTED


@pytest.mark.parametrize(
    ("stop", "lines"),
    [
        (2, ["other", *LINES]),
        (None, ["other", *LINES]),
        (None, LINES * 2),
        (None, [*LINES[:-1], "last one"]),
        (None, LINES[:-2]),
    ],
)
def test_another_text_is_refused(tmp_path, stop, lines):
    _run(tmp_path, stop=stop)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="text is not the one that"):
        _run(tmp_path, lines=lines)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_another_text_is_refused_where_a_file_is_missing(tmp_path):
    _run(tmp_path)
    (tmp_path / "b").unlink()
    for _ in range(2):  # the refused run changes nothing for the next one
        with pytest.raises(ValueError, match="text is not the one that"):
            _run(tmp_path, lines=["other", *LINES])
        assert not (tmp_path / ".b.partial").exists()
    _run(tmp_path)
    assert _contents(tmp_path) == EXPECTED
