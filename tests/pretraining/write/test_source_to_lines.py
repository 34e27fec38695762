import gzip
import json
import pickle

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_bert.pretraining.write.documents_to_ids import split_sentences
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks
from keras_bert.pretraining.write.source_to_lines import (
    TextSource,
    read_jsonl,
    read_lines,
    read_tfds,
    read_whole_files,
)


def test_lines_of_plain_and_gzipped_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("three")
    files = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    assert list(read_lines(files)) == ["one", "", "two", "", "three", ""]


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
        for lines in (
            read_lines([file]),
            read_whole_files([file]),
            read_jsonl([file], "text"),
        ):
            with pytest.raises(ValueError, match="a.gz is not a whole gzip f"):
                list(lines)


def test_a_whole_file_is_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\n \ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("four")
    lines = list(read_whole_files([tmp_path / "a.txt", tmp_path / "b.txt"]))
    assert lines == ["one", "\ntwo", "three", "", "four", ""]


def test_a_whole_file_is_wrapped_text(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text(
        "\nThe quick brown\nfox jumps. The lazy\ndog ran home.\n\n"
        "It came to\nsleep.\n"
    )
    (block,) = cut_blocks(read_whole_files([file]))
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
    assert list(read_jsonl([file], "text")) == ["one\n\ntwo", "", "drei", ""]
    with pytest.raises(ValueError, match="gz:1 has no text under 'id'; set"):
        list(read_jsonl([file], "id"))
    file = tmp_path / "b.jsonl"
    file.write_text('{"text": "one"}\n{"text": \n')
    with pytest.raises(ValueError, match="b.jsonl:2 is not JSON"):
        list(read_jsonl([file], "text"))


def test_data_sets_of_tensorflow_datasets(tmp_path, monkeypatch):
    pytest.importorskip(
        "importlib_resources",
        reason="tensorflow-datasets makes none without importlib_resources",
    )
    texts = ["one ö", "two\n\nthree"]
    tfds.dataset_builders.store_as_tfds_dataset(
        "two_texts",
        version="1.0.0",
        features=tfds.features.FeaturesDict(
            {"body": tfds.features.Text(), "stars": tf.int32}
        ),
        split_datasets={
            "train": tf.data.Dataset.from_tensor_slices(
                {"body": texts, "stars": [3, 4]}
            )
        },
        data_dir=str(tmp_path),
    )
    monkeypatch.setattr(
        tfds, "load", lambda *a, _load=tfds.load, **k: _load(
            *a, data_dir=str(tmp_path), **k
        )
    )  # fmt: skip
    found = list(read_tfds("two_texts", "body"))
    assert sorted(found[::2]) == texts and found[1::2] == ["", ""]
    with pytest.raises(ValueError, match="no field 'text', only body, stars"):
        list(read_tfds("two_texts", "text"))
    with pytest.raises(ValueError, match="cannot load 'two_texts', split 'x'"):
        list(read_tfds("two_texts", "body", "x"))
    with pytest.raises(ValueError, match="cannot load 'no_such_texts'"):
        list(read_tfds("no_such_texts", "body"))


def test_units_go_to_other_processes_and_hold_the_whole_text(tmp_path):
    (tmp_path / "a").write_text("x" * 4_000_000)
    for name in "bc":
        (tmp_path / name).write_text(f"two {name}\n" * 300_000)
    (tmp_path / "d").write_text("three\n\nfour\n")
    source = TextSource(str(tmp_path / "*"))
    units = [
        list(read()) for read in pickle.loads(pickle.dumps(source.units()))
    ]
    assert [unit[0][:5] for unit in units] == ["xxxxx", "two b"]
    assert sum(units, []) == list(source.lines())


def test_a_source_chooses_the_reader(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "a.jsonl").write_text('{"body": "one\\n\\ntwo"}\n')
    text, jsonl = f"{tmp_path}/*.txt", f"{tmp_path}/*.jsonl"
    assert list(TextSource(text).lines()) == ["one", "", "two", ""]
    whole = TextSource(text, document_per_file=True)
    assert len([x for x in whole.lines() if not x.strip()]) == 1
    found = TextSource(jsonl, text_field="body").lines()
    assert list(found) == ["one\n\ntwo", ""]
    for fields, message in (
        ({}, "either an input_file or a tfds_name"),
        ({"input_file": text, "tfds_name": "x"}, "either an input_file or"),
        ({"tfds_name": "x"}, "the text_field of x"),
        (
            {"input_file": text, "text_field": "y", "document_per_file": True},
            "document_per_file is for files",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            TextSource(**fields)
