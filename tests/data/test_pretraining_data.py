import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.data.corpus import Corpus
from keras_bert.data.lines import expand_globs, read_lines
from keras_bert.data.pretraining import (
    PretrainingDataConfig,
    create_pretraining_data,
)
from keras_bert.data.records import read_pretraining_records
from keras_bert.text.tokenizer import BertTokenizer

S, P = 23, 4
CONFIG = PretrainingDataConfig(
    max_seq_length=S, max_predictions_per_seq=P, dupe_factor=3
)


@pytest.fixture
def tokenizer(vocab_file):
    return BertTokenizer(vocab_file)


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
    dataset = read_pretraining_records(
        [str(file)],
        seq_length=S,
        max_predictions_per_seq=P,
        batch_size=10_000,
        **kwargs,
    )
    return {k: v.numpy() for k, v in next(iter(dataset)).items()}


def test_documents_and_sentences(tokenizer):
    text = ["", "the fox", "a dog .", "", "  ", "\x01", "film", ""]
    corpus = Corpus.from_lines(text, tokenizer)
    assert corpus.num_documents == 2
    assert corpus.ids.tolist() == [5, 9, 6, 15, 16, 23]
    assert corpus.sentence_ends.tolist() == [0, 2, 5, 6]
    assert corpus.document_ends.tolist() == [0, 2, 3]


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
            # One document has one behind the other (tokens may be cut where
            # they meet).
            assert any(
                d.find(first) >= 0
                and d.find(second, d.find(first) + len(first)) >= 0
                for d in documents
            )
        else:
            assert any(second in d for d in documents)
    assert 0.5 < num_random / counts["instances"] < 0.85
    assert np.mean(np.array(lengths) > S - 8) > 0.5


def test_a_seed_makes_the_same_records(tokenizer, lines, tmp_path):
    for name in "ab":
        create_pretraining_data(lines, [tmp_path / name], tokenizer, CONFIG)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_are_filled_in_turn(tokenizer, lines, tmp_path):
    files = [tmp_path / "a", tmp_path / "b"]
    counts = create_pretraining_data(lines, files, tokenizer, CONFIG)
    sizes = [len(_read(file)["input_ids"]) for file in files]
    assert sum(sizes) == counts["instances"] and sizes[0] - sizes[1] in (0, 1)


def test_an_empty_corpus_leaves_no_file(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="holds no sentence"):
        create_pretraining_data(
            ["", " \t"], [tmp_path / "a.tfrecord"], tokenizer, CONFIG
        )
    assert not list(tmp_path.glob("*.tfrecord"))


def test_shuffled_records_come_for_ever_in_full_batches(
    tokenizer, lines, tmp_path
):
    file = tmp_path / "a.tfrecord"
    create_pretraining_data(lines, [file], tokenizer, CONFIG)

    def batches():
        dataset = read_pretraining_records(
            [str(file)],
            seq_length=S,
            max_predictions_per_seq=P,
            batch_size=64,
            shuffle_seed=3,
        )
        return [b["input_ids"].numpy() for b in dataset.take(20)]

    first = batches()
    assert {batch.shape for batch in first} == {(64, S)}
    for batch, again in zip(first, batches(), strict=True):
        np.testing.assert_array_equal(batch, again)


def test_records_of_another_length_are_refused(tokenizer, lines, tmp_path):
    file = str(tmp_path / "a.tfrecord")
    create_pretraining_data(lines, [file], tokenizer, CONFIG)
    with pytest.raises(ValueError, match="input_ids of length 23, but .* 99"):
        read_pretraining_records(
            [file], seq_length=99, max_predictions_per_seq=P, batch_size=1
        )
    with pytest.raises(ValueError, match="positions of length 4, but .* 5"):
        read_pretraining_records(
            [file], seq_length=S, max_predictions_per_seq=5, batch_size=1
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no record"), (b"not a TFRecord" * 9, "is not a TFRecord")],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    file = tmp_path / "broken.tfrecord"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"broken.tfrecord {message}"):
        read_pretraining_records(
            [str(file)], seq_length=S, max_predictions_per_seq=P, batch_size=1
        )


def test_googles_records_are_read_unchanged(shared):
    dataset = read_pretraining_records(
        [str(shared / "golden/pretraining_records/google.tfrecord")],
        seq_length=64,
        max_predictions_per_seq=10,
        batch_size=1000,
    )
    records = next(iter(dataset))
    assert records["input_ids"].shape == (624, 64)
    assert records["masked_lm_weights"].dtype == tf.float32
    assert set(records["next_sentence_labels"].numpy().ravel()) == {0, 1}


def test_lines_of_plain_and_gzipped_files(tmp_path):
    import gzip

    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("three")
    files = expand_globs(f"{tmp_path}/a.txt,{tmp_path}/*.gz")
    assert list(read_lines(files)) == ["one", "", "two", "", "three", ""]
    with pytest.raises(FileNotFoundError, match="No file matches"):
        expand_globs(f"{tmp_path}/*.csv")
