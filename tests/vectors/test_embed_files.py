import gzip

import numpy as np
import pytest
from conftest import WORDS
from file_kills import killed_after

from keras_bert.errors import InputError
from keras_bert.vectors import embed_files as module
from keras_bert.vectors.embed_files import embed_files

TEXTS = [" ".join(WORDS[: i * 7 % 13]) for i in range(17)]


@pytest.fixture(autouse=True)
def chunks_of_five(monkeypatch):
    monkeypatch.setattr(module, "LINES_PER_CHUNK", 5)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS[:8]))
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("\n".join(TEXTS[8:]) + "\n")
    return f"{tmp_path}/a.txt, {tmp_path}/*.txt.gz"


def test_rows_are_in_the_order_of_the_lines(embedder, files, tmp_path):
    out = tmp_path / "new" / "vectors.npy"
    assert embed_files(embedder, files, out, batch_size=3) == 17
    vectors = np.load(out, mmap_mode="r")
    assert vectors.dtype == np.float32 and vectors.shape == (17, 12)
    np.testing.assert_allclose(vectors, embedder.embed(TEXTS), atol=1e-6)
    assert [path.name for path in out.parent.iterdir()] == ["vectors.npy"]


@pytest.mark.parametrize(
    ("name", "header", "line"),
    [
        ("in.jsonl", "", '{"id": 7, "문장": "TEXT", "title": "the"}'),
        ("in.tsv", "id\t문장\ttitle\n", "7\tTEXT\tthe"),
        ("in.csv", "id,title,문장\n", '7,the,"TEXT"'),
    ],
)
def test_a_field_is_a_key_or_a_column(tmp_path, name, header, line):
    texts = ["한국어 영화는 좋다", "the fox, a dog", "zwölf ß"]
    lines = [line.replace("TEXT", text) for text in texts]
    (tmp_path / name).write_text(header + "\n".join(lines))
    file = str(tmp_path / name)
    assert [*module.read_texts(file, "문장")] == texts
    joined = [f"the {text}" for text in texts]
    assert [*module.read_texts(file, "title,문장")] == joined


def test_quotes_that_excel_wrote_are_left_out(embedder, tmp_path):
    (tmp_path / "in.tsv").write_text('text\tid\n"a ""fox"" ."\t7\n"a"\t8\n')
    file, out = str(tmp_path / "in.tsv"), tmp_path / "out.npy"
    texts = ['a "fox" .', '"a"']
    assert [*module.read_texts(file, "text")] == texts
    assert embed_files(embedder, file, out, field="text") == 2
    np.testing.assert_allclose(np.load(out), embedder.embed(texts), atol=1e-6)


def test_a_killed_run_continues_to_the_same_bytes(
    embedder, files, tmp_path, monkeypatch
):
    whole, out = tmp_path / "whole.npy", tmp_path / "out.npy"
    embed_files(embedder, files, whole)
    for num_chunks in (1, 2):
        with killed_after(num_chunks):
            embed_files(embedder, files, out)
        assert not out.exists()
    # The last chunk is left.
    calls, embed_and_tell = [], module.Embedder.embed_and_tell

    def counted(self, texts, **options):
        calls.append(len(texts))
        return embed_and_tell(self, texts, **options)

    monkeypatch.setattr(module.Embedder, "embed_and_tell", counted)
    assert embed_files(embedder, files, out) == 17
    assert calls == [2]
    assert out.read_bytes() == whole.read_bytes()


def test_what_is_left_of_another_run_is_refused(embedder, files, tmp_path):
    out = tmp_path / "out.npy"
    with killed_after(1):
        embed_files(embedder, files, out)
    message = r"\.out.npy.parts holds results of another model or of other li"
    with pytest.raises(InputError, match=message):
        embed_files(embedder, files, out, batch_size=3)
    with pytest.raises(InputError, match=message):
        embed_files(embedder, f"{tmp_path}/*.txt.gz", out)
    assert embed_files(embedder, files, out) == 17


@pytest.mark.parametrize(
    "content, field, out, message",
    [
        ("", None, "a.npy", "has no lines"),
        ("x\ty\na\tb", ["x", "y"], "a.npy", r"The field is \['x', 'y'\]; g"),
        ("fox", None, "a.csv", "must end with .npy, or with .jsonl for"),
        ("fox", "text", "a.npy", "Line 1 of .* has no field 'text'; give JSON"),
        ('{"x": "a"}', "text", "a.npy", "Line 1 of .* has no field 'text'"),
        ('{"x": 3}', "x", "a.npy", "The text of line 1 of .* is 3; give a str"),
        ('{"text": "fox"}', None, "a.npy", "is JSON; give one JSON object per"),
        ('[{"text": "a"}]', None, "a.npy", "is JSON; give one JSON object per"),
        ('[\n {"text": "a"}]', None, "a.npy", "is JSON; give one JSON object"),
        ('{"x": "a"}', "x,y", "a.npy", "Line 1 of .* has no field 'x,y'; give"),
        ("a\rb\r", None, "a.npy", "The lines of .* end with CR alone"),
        ("id\tx\nfox", "x", "a.npy", "Line 2 of .* same number of columns in"),
        (
            "x\tx\na\tb",
            "x",
            "a.npy",
            r"text of line 2 of .* is \['a', 'b'\]; g",
        ),
        ("fox\n\udc80", None, "a.npy", "text of line 2 of .*, which is not v"),
    ],
)
def test_wrong_input_leaves_nothing(
    embedder, tmp_path, content, field, out, message
):
    file = tmp_path / "in.txt"
    file.write_text(content, "utf-8", errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        embed_files(embedder, str(file), tmp_path / "out" / out, field=field)
    assert not (tmp_path / "out").exists()
