import functools
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from conftest import write_vocab
from read_records import read_records

from keras_bert.pretraining.records import _load_index, make_index
from keras_bert.pretraining.write import run as write_run
from keras_bert.pretraining.write.blocks_to_parts import RecordMaker
from keras_bert.pretraining.write.run import (
    PretrainingDataConfig,
    create_pretraining_data,
)
from keras_bert.pretraining.write.text_to_blocks import cut_blocks
from keras_bert.text.tokenizer import BertTokenizer

S, P = 23, 4
CONFIG = PretrainingDataConfig(
    max_seq_length=S, max_predictions_per_seq=P, dupe_factor=3
)


NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return BertTokenizer(write_vocab(tmp_path_factory.mktemp("vocab")))


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """The text is cut into several blocks."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(
            write_run,
            "cut_blocks",
            functools.partial(cut_blocks, block_size=2500),
        )
        yield


@pytest.fixture(scope="module")
def lines():
    """60 documents of 1 to 9 sentences of 1 to 12 words."""
    random = np.random.default_rng(1)
    words = "the a quick brown fox over lazy dog film good bad movie".split()
    text = []
    for _ in range(60):
        for _ in range(random.integers(1, 10)):
            chosen = random.choice(words, random.integers(1, 13))
            text.append(" ".join(chosen))
        text.append("")
    return text


@pytest.fixture(scope="module")
def written(tokenizer, lines, small_blocks, tmp_path_factory):
    """The folder of the files, and the counts."""
    folder = tmp_path_factory.mktemp("written")
    return folder, _write(lines, folder, tokenizer)


def _write(lines, folder, tokenizer, config=CONFIG, **kwargs):
    files = [folder / name for name in NAMES]
    return create_pretraining_data(lines, files, tokenizer, config, **kwargs)


def _contents(folder):
    return [(folder / name).read_bytes() for name in NAMES]


def _read(*files):
    dataset = read_records(
        [str(file) for file in files],
        max_seq_length=S,
        max_predictions_per_seq=P,
        batch_size=10_000,
    )
    return {k: v.numpy() for k, v in next(iter(dataset)).items()}


def test_the_files_have_an_index_and_a_json(lines, written):
    """The records are divided evenly among the files."""
    folder, counts = written
    sizes = []
    for name in NAMES:
        index = make_index(folder / name)
        np.testing.assert_array_equal(_load_index(folder / name), index)
        sizes.append(len(index))
    assert sum(sizes) == counts["instances"] > 300
    num_blocks = len(list(cut_blocks(lines, block_size=2500)))
    assert max(sizes) - min(sizes) <= num_blocks > 3
    found = json.loads((folder / "a.json").read_text())
    assert found["counts"] == counts
    assert found["settings"]["random_seed"] == 12345
    assert found["settings"]["do_lower_case"] is True


def test_records_hold_pairs_of_the_text(tokenizer, lines, written):
    folder, counts = written
    assert counts["documents"] == 60
    assert counts["sentences"] == sum(map(bool, lines))
    records = _read(*(folder / name for name in NAMES))
    assert len(records["input_ids"]) == counts["instances"] > 300

    # The ids of each document as one string, to look segments up in.
    documents = [
        "".join(
            chr(i + 50) for row in tokenizer(list(group)).to_list() for i in row
        )
        for blank, group in itertools.groupby(lines, lambda x: not x)
        if not blank
    ]
    assert counts["tokens"] == sum(map(len, documents))
    num_random, lengths = 0, []
    for row in range(counts["instances"]):
        ids = records["input_ids"][row].copy()
        weights = records["masked_lm_weights"][row] > 0
        assert weights.any()
        ids[records["masked_lm_positions"][row][weights]] = records[
            "masked_lm_ids"
        ][row][weights]
        length = records["input_mask"][row].sum()
        lengths.append(length)
        assert not ids[length:].any()
        first_end, last = np.flatnonzero(ids == 3)
        assert ids[0] == 2 and last == length - 1
        segments = records["segment_ids"][row]
        assert segments[: first_end + 1].sum() == 0
        assert segments.sum() == length - first_end - 1
        first = "".join(chr(i + 50) for i in ids[1:first_end])
        second = "".join(chr(i + 50) for i in ids[first_end + 1 : last])
        assert first and second
        is_random = records["next_sentence_labels"][row, 0]
        num_random += is_random
        if not is_random:
            # Both are in one document, in this order; tokens may be lost
            # between them.
            assert any(
                d.find(first) >= 0
                and d.find(second, d.find(first) + len(first)) >= 0
                for d in documents
            )
        else:
            assert any(second in d for d in documents)
    assert 0.5 < num_random / counts["instances"] < 0.85
    assert np.mean(np.array(lengths) > S - 8) > 0.5
    assert counts["random_next"] == num_random
    assert counts["input_tokens"] == sum(lengths)
    assert counts["fill_rate"] == sum(lengths) / (len(lengths) * S)
    assert counts["masked_tokens"] == records["masked_lm_weights"].sum()
    # Most rows mask 3 of 20 positions, in 1,140 ways; few rows are equal.
    places = {tuple(row) for row in records["masked_lm_positions"]}
    assert len(places) > counts["instances"] / 2


def test_another_seed_makes_other_records(tokenizer, lines, written, tmp_path):
    _write(lines, tmp_path, tokenizer, replace(CONFIG, random_seed=6))
    for one, other in zip(
        _contents(tmp_path), _contents(written[0]), strict=True
    ):
        assert one != other


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(
    lines, written, tmp_path, tokenizer
):
    _write(lines, tmp_path, tokenizer, num_workers=2)
    assert _contents(tmp_path) == _contents(written[0])


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(
    tokenizer, lines, written, tmp_path, monkeypatch
):
    """It is killed while it makes its third part; the seed is the same."""
    made = []
    make_part = RecordMaker.make_part

    def make_two(self, block, *args):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(block.number)
        return make_part(self, block, *args)

    monkeypatch.setattr(RecordMaker, "make_part", make_two)
    with pytest.raises(KeyboardInterrupt):
        _write(lines, tmp_path, tokenizer)
    assert [path.name for path in tmp_path.iterdir()] == [".a.parts"]
    made[:] = []
    monkeypatch.setattr(
        RecordMaker,
        "make_part",
        lambda self, block, *args: (
            made.append(block.number) or make_part(self, block, *args)
        ),
    )
    _write(lines, tmp_path, tokenizer)
    assert _contents(tmp_path) == _contents(written[0])
    assert made == [*range(2, made[-1] + 1)]


def test_an_empty_corpus_leaves_no_file(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="has no sentence"):
        create_pretraining_data(
            ["", " \t"], [tmp_path / "a.tfrecord"], tokenizer, CONFIG
        )
    # A line of a control character is not blank, but has no token.
    with pytest.raises(ValueError, match="has no sentence"):
        create_pretraining_data(
            ["\x01"], [tmp_path / "a.tfrecord"], tokenizer, CONFIG
        )
    assert not list(tmp_path.iterdir())


def test_compressed_records_with_the_names_of_model_garden(
    tokenizer, lines, written, tmp_path
):
    plain, packed = written[0] / "a", tmp_path / "a"
    config = replace(CONFIG, gzip_compress=True, use_v2_feature_names=True)
    _write(lines, tmp_path, tokenizer, config)
    assert packed.read_bytes()[4:8] == bytes(4)  # no time, so always the same
    assert packed.stat().st_size < plain.stat().st_size / 2
    first = next(iter(tf.data.TFRecordDataset(str(packed), "GZIP"))).numpy()
    assert set(tf.train.Example.FromString(first).features.feature) == {
        "input_word_ids",
        "input_mask",
        "input_type_ids",
        "masked_lm_positions",
        "masked_lm_ids",
        "masked_lm_weights",
        "next_sentence_labels",
    }
    expected = _read(plain)
    for name, value in _read(packed).items():
        np.testing.assert_array_equal(value, expected[name])


def test_raw_text_is_split_into_sentences(tokenizer, tmp_path):
    config = replace(CONFIG, split_sentences=True, dupe_factor=1)
    counts = create_pretraining_data(
        ["The fox jumped. A dog was\nnot lazy! Bad film?", "", "The end."],
        [tmp_path / "a"],
        tokenizer,
        config,
    )
    assert (counts["documents"], counts["sentences"]) == (2, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_seq_length": 4}, "max_seq_length is 4, .* at least 5"),
        ({"max_predictions_per_seq": 0}, "max_predictions_per_seq is 0"),
        ({"dupe_factor": 0}, "dupe_factor is 0"),
        ({"short_seq_prob": 1.5}, "short_seq_prob is 1.5"),
    ],
)
def test_impossible_sizes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)


@pytest.mark.parametrize("dynamic_masking", [False, True])
def test_what_is_lost_is_said(tokenizer, tmp_path, caplog, dynamic_masking):
    """Paragraphs of 40 tokens in rows of 20, in documents of their own."""
    config = replace(CONFIG, dynamic_masking=dynamic_masking)
    counts = _write(["fox " * 40, ""] * 9, tmp_path, tokenizer, config)
    assert counts["cut_tokens"] == 9 * 20
    assert counts["one_sentence_documents"] == 9
    cut, single = (record.getMessage() for record in caplog.records)
    assert cut.startswith("50% of the tokens are lost") and "split_sent" in cut
    assert single.startswith("100% of the documents have one sentence")


def test_whole_words_that_are_too_long_for_a_mask_are_said(
    tokenizer, tmp_path, caplog
):
    """As in a language without spaces, where a sentence is a word."""
    config = replace(CONFIG, do_whole_word_mask=True, dupe_factor=1)
    text = ["jump" + "ed" * 9] * 2 + [""]
    counts = _write(text * 9, tmp_path, tokenizer, config)
    assert counts["unmasked_instances"] == counts["instances"] > 9
    (record,) = caplog.records
    assert record.getMessage().startswith("100% of the instances have no")


def test_nothing_is_said_of_ordinary_text(written, tokenizer, lines, caplog):
    folder, counts = written
    assert counts["unmasked_instances"] == 0
    assert _write(lines, folder, tokenizer) == counts
    assert not caplog.records
