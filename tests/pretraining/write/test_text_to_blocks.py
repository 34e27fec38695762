import gzip
import io
import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.write import text_to_blocks
from keras_bert.pretraining.write.documents_to_pairs import split_sentences
from keras_bert.pretraining.write.text_to_blocks import (
    TextSource,
    cut_blocks,
    group_files,
)


def _lines(*files, **options):
    return list(TextSource(",".join(map(str, files)), **options).lines())


def test_lines_of_plain_and_gzipped_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("three")
    lines = _lines(tmp_path / "a.txt", tmp_path / "b.txt.gz")
    assert lines == ["one", "", "two", "", "three", ""]


def test_a_damaged_gzip_file_is_named(tmp_path):
    file = tmp_path / "a.gz"
    text = " ".join(map(str, range(9999)))
    whole = gzip.compress(json.dumps({"text": text}).encode())
    middle = len(whole) // 2
    for content in (
        b"plain text",
        whole[:middle],
        whole[:middle] + b"damage" + whole[middle:],
        whole[:-8] + bytes(8),  # the checksum
    ):
        file.write_bytes(content)
        for options in ({}, {"document_per_file": True}, {"text_field": "x"}):
            with pytest.raises(ValueError, match="a.gz is not a complete gzip"):
                _lines(file, **options)


def test_a_whole_file_is_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\n \ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("four")
    files = tmp_path / "a.txt", tmp_path / "b.txt"
    lines = _lines(*files, document_per_file=True)
    assert lines == ["one", "\ntwo", "three", "", "four", ""]


def test_a_whole_file_is_wrapped_text(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text(
        "\nThe quick brown\nfox jumps. The lazy\ndog ran home.\n\n"
        "It came to\nsleep.\n"
    )
    (block,) = cut_blocks(_lines(file, document_per_file=True))
    assert split_sentences(tf.constant(block.documents)).to_list() == [
        [
            b"The quick brown fox jumps.",
            b"The lazy dog ran home.",
            b"It came to sleep.",
        ]
    ]


def test_json_lines(tmp_path):
    file = tmp_path / "a.jsonl.gz"
    with gzip.open(file, "wt") as target:
        for text in ("one\n\ntwo", "drei"):
            print(json.dumps({"text": text, "id": 3}), file=target)
        print(file=target)
    assert _lines(file, text_field="text") == [
        *("one\n\ntwo", ""),
        *("drei", ""),
    ]
    with pytest.raises(ValueError, match="gz:1 has no text under 'id'; set"):
        _lines(file, text_field="id")
    file = tmp_path / "b.jsonl"
    file.write_text('{"text": "one"}\n{"text": \n')
    with pytest.raises(ValueError, match="b.jsonl:2 is not JSON"):
        _lines(file, text_field="text")


def test_units_hold_the_whole_text(tmp_path):
    (tmp_path / "a").write_text("x" * 4_000_000)
    for name in "bc":
        (tmp_path / name).write_text(f"two {name}\n" * 300_000)
    (tmp_path / "d").write_text("three\n\nfour\n")
    source = TextSource(str(tmp_path / "*"))
    units = list(map(list, source.units()))
    assert [unit[0][:5] for unit in units] == ["xxxxx", "two b"]
    assert sum(units, []) == list(source.lines())


def test_fields_that_name_no_source():
    for fields, message in (
        ({}, "Give an input_file"),
        (
            {"input_file": "x", "text_field": "y", "document_per_file": True},
            "document_per_file is for plain text",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            TextSource(**fields)


def _sizes(folder, sizes):
    """Groups files of these sizes; returns the sizes in each unit."""
    files = []
    for i, size in enumerate(sizes):
        files.append(str(folder / str(i)))
        (folder / str(i)).write_bytes(b"x" * size)
    units = group_files(files)
    assert [file for unit in units for file in unit] == files
    return [[sizes[files.index(file)] for file in unit] for unit in units]


@pytest.mark.parametrize(
    ("sizes", "units"),
    [
        ([7], [[7]]),
        ([100], [[100]]),
        ([100, 30, 10], [[100], [30], [10]]),
        ([3, 4, 2, 1, 8, 1, 11, 6], [[3, 4, 2, 1], [8, 1, 11], [6]]),
        # A rest of less than half a unit joins the one before.
        ([10, 4], [[10, 4]]),
        ([10, 5], [[10], [5]]),
        ([0, 0], [[0, 0]]),
        ([], []),
    ],
)
def test_small_neighbours_share_a_unit(tmp_path, monkeypatch, sizes, units):
    monkeypatch.setattr(text_to_blocks, "_UNIT_SIZE", 10)
    assert _sizes(tmp_path, sizes) == units


def test_documents_are_between_blank_lines():
    lines = ["", "one", "two", " \t", "", "three\n\nfour", "", "five"]
    (block,) = cut_blocks(lines)
    assert block.documents == ["one\ntwo", "three\n\nfour", "five"]
    assert list(cut_blocks(["", " "])) == []
    (block,) = cut_blocks(io.StringIO("one\ntwo\n\nthree\r\nfour\n"))
    assert block.documents == ["one\ntwo", "three\nfour"]


@pytest.mark.parametrize("seed", range(5))
def test_blocks_hold_the_whole_text_and_are_of_like_size(seed):
    random = np.random.default_rng(seed)
    lines = ["x" * n for n in random.integers(0, 30, 2000)]
    blocks = list(cut_blocks(lines, block_size=1000))
    assert [block.number for block in blocks] == [*range(len(blocks))]
    documents = [d for block in blocks for d in block.documents]
    assert "".join(documents).replace("\n", "") == "".join(lines)
    sizes = [sum(map(len, block.documents)) for block in blocks]
    for size, block in zip(sizes[:-1], blocks[:-1], strict=True):
        assert 0 <= size - 1000 < len(block.documents[-1])
    assert 500 - max(map(len, documents)) <= sizes[-1] <= 1500


def test_a_long_document_is_cut_between_lines():
    lines = [f"line {i}" for i in range(1000)]
    blocks = list(cut_blocks(lines, block_size=2000))
    assert min(len(block.documents) for block in blocks) >= 2
    documents = [d for block in blocks for d in block.documents]
    assert "\n".join(documents) == "\n".join(lines)
    # A single line of usual length is never cut.
    (block,) = cut_blocks(["x" * 9000], block_size=2000)
    assert block.documents == ["x" * 9000]


@pytest.mark.parametrize("space", [" ", "\n\n", "\u3000", ""])
def test_a_long_line_is_cut_at_white_space(space, monkeypatch):
    monkeypatch.setattr(text_to_blocks, "_MAX_DOCUMENT_SIZE", 500)
    words = [f"word-{i}" for i in range(2000)]
    lines = ["a line", space.join(words), "another"]
    documents = [
        document for block in cut_blocks(lines) for document in block.documents
    ]
    assert max(map(len, documents)) <= 1001  # two pieces of a line
    found = "\n".join(documents)
    if space:
        assert found.split() == " ".join(["a line", *words, "another"]).split()
    else:
        assert found.replace("\n", "") == "".join(lines)


def test_the_digest_tells_texts_apart_up_to_the_block():
    lines = [f"line {i}" if i % 3 else "" for i in range(600)]
    first = list(cut_blocks(lines, block_size=500))
    assert first == list(cut_blocks(iter(lines), block_size=500))
    assert len({block.digest for block in first}) == len(first) > 4
    changed = list(cut_blocks([*lines[:-1], "other"], block_size=500))
    same = [a.digest == b.digest for a, b in zip(first, changed, strict=True)]
    assert same == [True] * (len(first) - 1) + [False]
    joined = list(cut_blocks(["a", "", "b"])), list(cut_blocks(["a", "b"]))
    assert len({block.digest for (block,) in joined}) == 2


def test_blocks_of_other_units_have_other_numbers_and_digests():
    lines = [f"line {i}" if i % 3 else "" for i in range(600)]
    units = [list(cut_blocks(lines, unit, block_size=500)) for unit in range(3)]
    blocks = [block for unit in units for block in unit]
    assert len({block.number for block in blocks}) == len(blocks)
    assert len({block.digest for block in blocks}) == len(blocks)
    for blocks in zip(*units, strict=True):
        assert all(b.documents == blocks[0].documents for b in blocks)
    # Records begin at the output file of this number, so they are spread.
    for num_files in range(1, 20):
        firsts = {
            next(cut_blocks(["a"], unit)).number % num_files
            for unit in range(num_files)
        }
        assert len(firsts) == num_files
