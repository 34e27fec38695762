import numpy as np
import pytest

from keras_bert.pretraining.write import lines_to_blocks as blocks_module
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks


def test_documents_are_between_blank_lines():
    lines = ["", "one", "two", " \t", "", "three\n\nfour", "", "five"]
    (block,) = cut_blocks(lines)
    assert block.documents == ["one\ntwo", "three\n\nfour", "five"]
    assert list(cut_blocks(["", " "])) == []


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
    monkeypatch.setattr(blocks_module, "_MAX_DOCUMENT_SIZE", 500)
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
