import functools
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from read_records import read_records

from keras_bert.pretraining.records.index import load_index, make_index
from keras_bert.pretraining.write import run as write_run
from keras_bert.pretraining.write.blocks_to_records import InstanceMaker
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks
from keras_bert.pretraining.write.run import (
    PretrainingDataConfig,
    create_pretraining_data,
)
from keras_bert.text.tokenizer import BertTokenizer

S, P = 23, 4
CONFIG = PretrainingDataConfig(
    max_seq_length=S, max_predictions_per_seq=P, dupe_factor=3
)


@pytest.fixture
def tokenizer(vocab_file):
    return BertTokenizer(vocab_file)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """The text is cut into several blocks."""
    monkeypatch.setattr(
        write_run,
        "cut_blocks",
        functools.partial(cut_blocks, block_size=2500),
    )


@pytest.fixture
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


def _read(file, **kwargs):
    dataset = read_records(
        [str(file)],
        max_seq_length=S,
        max_predictions_per_seq=P,
        batch_size=10_000,
        **kwargs,
    )
    return {k: v.numpy() for k, v in next(iter(dataset)).items()}


def test_the_files_are_written_with_their_index(tokenizer, lines, tmp_path):
    files = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    create_pretraining_data(lines, files, tokenizer, CONFIG)
    for file in files:
        assert (tmp_path / f".{file.name}.index.npy").exists()
        expected = make_index(file).places
        assert len(expected) > 100
        np.testing.assert_array_equal(load_index(file).places, expected)


def test_records_hold_pairs_of_the_text(tokenizer, lines, tmp_path):
    counts = create_pretraining_data(
        lines, [tmp_path / "a.tfrecord"], tokenizer, CONFIG
    )
    assert counts["documents"] == 60
    assert counts["sentences"] == sum(map(bool, lines))
    records = _read(tmp_path / "a.tfrecord")
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
    state = (tmp_path / "a.tfrecord.json").read_text()
    assert json.loads(state)["counts"] == counts
    again = create_pretraining_data(
        lines, [tmp_path / "a.tfrecord"], tokenizer, CONFIG
    )
    assert again == counts
    assert (tmp_path / "a.tfrecord.json").read_text() == state
    assert counts["masked_tokens"] == records["masked_lm_weights"].sum()
    # Most rows mask 3 of 20 positions, in 1,140 ways; few rows are equal.
    places = {tuple(row) for row in records["masked_lm_positions"]}
    assert len(places) > counts["instances"] / 2


def test_a_seed_makes_the_same_records(tokenizer, lines, tmp_path):
    for name, seed in ("a", 5), ("b", 5), ("c", 6):
        config = replace(CONFIG, random_seed=seed)
        create_pretraining_data(lines, [tmp_path / name], tokenizer, config)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(tokenizer, lines, tmp_path):
    for workers in (1, 2):
        create_pretraining_data(
            lines,
            [tmp_path / f"{workers}-{i}" for i in range(3)],
            tokenizer,
            CONFIG,
            num_workers=workers,
        )
    for i in range(3):
        one = (tmp_path / f"1-{i}").read_bytes()
        assert one == (tmp_path / f"2-{i}").read_bytes()


def test_records_are_divided_evenly_among_the_files(tokenizer, lines, tmp_path):
    files = [tmp_path / name for name in "abc"]
    counts = create_pretraining_data(lines, files, tokenizer, CONFIG)
    sizes = [len(_read(file)["input_ids"]) for file in files]
    assert sum(sizes) == counts["instances"]
    num_blocks = len(list(cut_blocks(lines, block_size=2500)))
    assert max(sizes) - min(sizes) <= num_blocks > 3


def test_the_json_tells_the_settings_and_the_counts(tokenizer, lines, tmp_path):
    counts = create_pretraining_data(
        lines, [tmp_path / "a"], tokenizer, replace(CONFIG, random_seed=5)
    )
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["counts"] == counts
    assert written["settings"]["random_seed"] == 5
    assert written["settings"]["do_lower_case"] is True


def test_a_killed_run_resumes_to_the_same_bytes(
    tokenizer, lines, tmp_path, monkeypatch
):
    """It is killed while it makes its third part."""

    def killed(self, number, documents, counts):
        if number == 2:
            raise KeyboardInterrupt
        return whole_records(self, number, documents, counts)

    whole_records = InstanceMaker.records
    made = []
    create_pretraining_data(lines, [tmp_path / "a"], tokenizer, CONFIG)
    with monkeypatch.context() as patches:
        patches.setattr(InstanceMaker, "records", killed)
        with pytest.raises(KeyboardInterrupt):
            create_pretraining_data(lines, [tmp_path / "b"], tokenizer, CONFIG)
    assert not (tmp_path / "b").exists()
    monkeypatch.setattr(
        InstanceMaker,
        "records",
        lambda self, number, *args: (
            made.append(number) or whole_records(self, number, *args)
        ),
    )
    create_pretraining_data(lines, [tmp_path / "b"], tokenizer, CONFIG)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert made == [*range(2, made[-1] + 1)]


def test_an_empty_corpus_leaves_no_file(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="holds no sentence"):
        create_pretraining_data(
            ["", " \t"], [tmp_path / "a.tfrecord"], tokenizer, CONFIG
        )
    # A line of a control character is not blank, but has no token.
    with pytest.raises(ValueError, match="holds no sentence"):
        create_pretraining_data(
            ["\x01"], [tmp_path / "a.tfrecord"], tokenizer, CONFIG
        )
    assert {path.name for path in tmp_path.iterdir()} == {"vocab.txt"}


def test_compressed_records_and_names_of_model_garden(
    tokenizer, lines, tmp_path
):
    plain, packed, garden = (tmp_path / name for name in "abc")
    create_pretraining_data(lines, [plain], tokenizer, CONFIG)
    create_pretraining_data(
        lines, [packed], tokenizer, replace(CONFIG, gzip_compress=True)
    )
    create_pretraining_data(
        lines, [garden], tokenizer, replace(CONFIG, use_v2_feature_names=True)
    )
    assert packed.read_bytes()[4:8] == bytes(4)  # no time, so always the same
    assert packed.stat().st_size < plain.stat().st_size / 2
    first = next(iter(tf.data.TFRecordDataset(str(garden)))).numpy()
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
    for file in (packed, garden):
        for name, value in _read(file).items():
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
