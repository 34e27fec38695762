import json

import pytest
from file_kills import is_killed

from keras_bert.io.whole_files import atomic_path
from keras_bert.pretraining.write.parts_to_files import OutputFiles
from keras_bert.pretraining.write.text_to_blocks import cut_blocks

LINES = "one two\n\nthree\nfour five\n\nsix\n\nseven eight nine\n\nten".split(
    "\n"
)
SETTINGS = {
    "seed": 5,
    "files": ["a", "b"],
    "max_seq_length": 9,
    "gzip_compress": True,  # such files get no index
}
CONTENTS = b"<0.0><1.0><2.0><3.0>", b"<0.1><1.1><2.1><3.1>"


def run(folder, *, stop=None, settings=SETTINGS, lines=LINES):
    """Makes two files of the text; returns the numbers of the blocks made.

    With `stop`, the run ends before that block.
    """
    outputs = OutputFiles([folder / "a", folder / "b"], settings)
    made, parts = [], []
    for block in cut_blocks(lines, block_size=8):
        if block.number == stop:
            return made
        parts.append(outputs.part(block))
        if not outputs.is_finished and not parts[-1].exists():
            with atomic_path(parts[-1]) as part:
                part.mkdir()
                for i in range(2):
                    (part / str(i)).write_bytes(b"<%d.%d>" % (block.number, i))
                counts = {"instances": block.number + 1, "documents": 2}
                counts["tokens"] = 9
                (part / "counts.json").write_text(json.dumps(counts))
            made.append(block.number)
    counts = outputs.join(parts)
    assert counts["instances"] == sum(range(len(parts) + 1))
    return made


def _contents(folder):
    return (folder / "a").read_bytes(), (folder / "b").read_bytes()


def test_the_files_replace_the_parts_at_the_end(tmp_path):
    assert run(tmp_path, stop=2) == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == [".a.parts"]
    assert run(tmp_path) == [2, 3]
    assert _contents(tmp_path) == CONTENTS
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "a.json"}
    assert json.loads((tmp_path / "a.json").read_text())["settings"] == SETTINGS


def test_a_finished_run_is_not_repeated(tmp_path):
    run(tmp_path)
    (tmp_path / "a").write_bytes(b"not touched")
    assert run(tmp_path) == []
    assert _contents(tmp_path) == (b"not touched", CONTENTS[1])


@pytest.mark.parametrize(
    "begin",
    ["nothing", pytest.param("one file missing", marks=pytest.mark.slow)],
)
def test_a_kill_at_any_moment_changes_no_byte(tmp_path, begin):
    """Each run is killed at a later change of a file than the run before."""
    if begin == "one file missing":
        run(tmp_path)
        (tmp_path / "b").unlink()
    moment = 0
    while is_killed(moment, lambda: run(tmp_path)):
        for name, content in zip("ab", CONTENTS, strict=True):
            file = tmp_path / name
            assert not file.exists() or file.read_bytes() == content
        moment += 1
    assert moment > 10
    assert _contents(tmp_path) == CONTENTS
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "a.json"}


def test_other_settings_are_refused_if_the_files_are_there(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match=r"a was made .*seed 5, now 6\); del"):
        run(tmp_path, settings=SETTINGS | {"seed": 6})
    assert _contents(tmp_path) == CONTENTS


def test_names_that_cannot_all_be_files_are_refused_at_once(tmp_path):
    (tmp_path / "folder").mkdir()
    for names, message in (
        (["a", "folder"], "folder is a folder; give the name of a file"),
        (["a", "b", "folder/../a"], "Two of the output files .* are the same"),
    ):
        with pytest.raises((OSError, ValueError), match=message):
            OutputFiles([tmp_path / name for name in names], SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"not JSON", b"\xff"])
def test_a_json_of_something_else_is_kept(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match="a.json does not describe records"):
        OutputFiles([tmp_path / "a"], SETTINGS)
    assert (tmp_path / "a.json").read_bytes() == content


def test_an_interrupted_run_starts_again_with_other_settings(tmp_path):
    run(tmp_path, stop=2)
    assert run(tmp_path, settings=SETTINGS | {"seed": 6}) == [0, 1, 2, 3]
    assert _contents(tmp_path) == CONTENTS


def test_an_interrupted_run_resumes_before_the_text_differs(tmp_path):
    other = [line.replace("six", "another") for line in LINES]
    assert run(tmp_path, stop=3, lines=other) == [0, 1, 2]
    assert run(tmp_path) == [2, 3]
    assert _contents(tmp_path) == CONTENTS


@pytest.mark.parametrize(
    "lines",
    [
        ["other", *LINES],
        LINES * 2,
        [*LINES[:-1], "last one"],
        LINES[:-2],
        [],
    ],
)
@pytest.mark.parametrize("missing", [[], ["b"]])
def test_another_text_is_refused_after_a_finished_run(tmp_path, lines, missing):
    run(tmp_path)
    for name in missing:
        (tmp_path / name).unlink()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="text is not the one that"):
        run(tmp_path, lines=lines)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    run(tmp_path)
    assert _contents(tmp_path) == CONTENTS
