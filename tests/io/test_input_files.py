import gzip

import pytest

from keras_bert.errors import InputError
from keras_bert.io.input_files import (
    check_is_no_input,
    expand_globs,
    open_text,
)
from keras_bert.io.whole_files import atomic_path


def test_globs_and_gzip(folder):
    for name in ("c.txt", "b.gz", "a.gz"):
        with atomic_path(folder / name) as path:
            line = b"a\xff\r\n"
            path.write_bytes(gzip.compress(line) if "gz" in name else line)
    files = expand_globs(f"{folder}/c.txt, {folder}/*.gz")
    assert files == [f"{folder}/{name}" for name in ("c.txt", "a.gz", "b.gz")]
    for file in files:
        with open_text(file, errors="replace", newline="\n") as lines:
            assert list(lines) == ["a\ufffd\r\n"]
    with pytest.raises(FileNotFoundError, match="No file matches"):
        expand_globs(f"{folder}/*.csv")


def test_an_existing_name_is_no_glob(tmp_path):
    for name in ("x[1].txt", "x1.txt"):
        (tmp_path / name).touch()
    for name in ("x[1].txt", "x1.txt"):
        assert expand_globs(tmp_path / name) == [f"{tmp_path}/{name}"]
    with pytest.raises(FileNotFoundError, match="No file matches ''"):
        expand_globs(f"{tmp_path}/x1.txt,")


def test_the_content_tells_whether_a_file_is_compressed(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"\xef\xbb\xbfa\nb\n"))
    with open_text(tmp_path / "a.txt", errors="strict") as lines:
        assert list(lines) == ["a\n", "b\n"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_text_in_another_encoding(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes("여우 fox\n".encode(encoding))
    with (
        pytest.raises(InputError, match="a.txt contains null bytes"),
        open_text(tmp_path / "a.txt", errors="replace") as lines,
    ):
        list(lines)


def test_an_output_file_is_none_of_the_input_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").touch()
    (tmp_path / "link").symlink_to("a.txt")
    check_is_no_input("b.txt", ["a.txt"])
    for name in ("a.txt", "./a.txt", tmp_path / "a.txt", "link"):
        with pytest.raises(InputError, match="is also an input file and would"):
            check_is_no_input(name, ["b.txt", "a.txt"])
