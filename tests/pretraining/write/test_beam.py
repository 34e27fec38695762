import dataclasses
import functools
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.write import beam as write_beam
from keras_bert.pretraining.write import run as write_run
from keras_bert.pretraining.write.beam import create_pretraining_data_with_beam
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks
from keras_bert.pretraining.write.run import (
    PretrainingDataConfig,
    create_pretraining_data,
)
from keras_bert.pretraining.write.source import TextSource
from keras_bert.text.tokenizer import BertTokenizer

CONFIG = PretrainingDataConfig(
    max_seq_length=23, max_predictions_per_seq=4, dupe_factor=2
)


def _records(files, compression=""):
    dataset = tf.data.TFRecordDataset([str(f) for f in files], compression)
    return sorted(record.numpy() for record in dataset)


@pytest.fixture
def small_blocks(monkeypatch):
    """The text makes several blocks in both runs."""
    cut = functools.partial(cut_blocks, block_size=5000)
    for module in (write_beam, write_run):
        monkeypatch.setattr(module, "cut_blocks", cut)


@pytest.mark.parametrize("gzip_compress", [False, True])
def test_the_same_records_as_the_local_run(
    vocab_file, tmp_path, gzip_compress, small_blocks
):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    words = "the a quick brown fox over lazy dog film good bad movie".split()
    random = np.random.default_rng(1)
    text = tmp_path / "text.txt"
    text.write_text(
        "\n".join(
            " ".join(random.choice(words, n))
            for n in random.integers(0, 13, 1000)
        )
    )
    source = TextSource(str(text))
    tokenizer = BertTokenizer(vocab_file)
    config = dataclasses.replace(CONFIG, gzip_compress=gzip_compress)
    counts = create_pretraining_data_with_beam(
        source,
        str(tmp_path / "beam.tfrecord"),
        tokenizer,
        config,
        num_shards=3,
        pipeline_options=["--runner=DirectRunner"],
    )
    local = tmp_path / "local"
    expected = create_pretraining_data(
        source.lines(), [local], tokenizer, config
    )
    files = sorted(tmp_path.glob("beam-*-of-00003.tfrecord"))
    assert len(files) == 3
    compression = "GZIP" if gzip_compress else ""
    assert _records(files, compression) == _records([local], compression)
    assert counts == expected


def test_without_beam_a_sentence_says_so(vocab_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(ValueError, match="Beam is not installed; pip install"):
        create_pretraining_data_with_beam(
            TextSource("text.txt"), "out", BertTokenizer(vocab_file)
        )


def test_several_names_are_refused(vocab_file):
    with pytest.raises(ValueError, match="one output file, not a,b; Beam"):
        create_pretraining_data_with_beam(
            TextSource("text.txt"), "a,b", BertTokenizer(vocab_file)
        )
