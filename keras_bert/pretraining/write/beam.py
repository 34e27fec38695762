"""The same records through Apache Beam, for more text than one machine."""

from __future__ import annotations

import collections
import dataclasses
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.pretraining.write.blocks_to_records import (
    InstanceMaker,
    with_fill_rate,
)
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.source import TextSource
from keras_bert.text.tokenizer import BertTokenizer


def create_pretraining_data_with_beam(
    source: TextSource,
    output_file: str,
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig | None = None,
    *,
    num_shards: int = 0,
    pipeline_options: list[str] | None = None,
) -> dict[str, float]:
    """Writes the records that `create_pretraining_data` does, in any order.

    One worker reads the text and cuts it into blocks; all make records.

    Args:
        source: Text that the workers can read under the same name.
        output_file: Its name is given to all files, with a number each:
            "out/a.tfrecord" becomes "out/a-00000-of-00005.tfrecord".
        tokenizer: Is made anew on each worker.
        config: Sizes and rates; by default those of the paper.
        num_shards: How many files; with 0, as many as the runner likes.
        pipeline_options: Beam's own, such as ["--runner=FlinkRunner"].

    Returns:
        The counts, where the runner tells them; no JSON is written.

    Raises:
        ImportError: Where Apache Beam is not installed.
    """
    if "," in output_file:
        raise InputError(
            f"With Apache Beam, give one output file, not {output_file}; it "
            "becomes several, with a number each."
        )
    try:
        import apache_beam as beam
    except ImportError as error:
        raise ImportError(
            "Apache Beam is not installed; pip install 'keras-bert-tf[beam]'."
        ) from error
    config = config or PretrainingDataConfig()
    output = Path(output_file)
    pipeline = beam.Pipeline(argv=pipeline_options or [])
    records = (
        pipeline
        | "Source" >> beam.Create([source])
        | "CutBlocks" >> beam.FlatMap(_blocks)
        | "Spread" >> beam.Reshuffle()
        | "MakeRecords"
        >> beam.FlatMap(_records, tokenizer.vocab, tokenizer.settings, config)
    )
    _ = records | "Write" >> beam.io.WriteToTFRecord(
        str(output.with_suffix("")),
        file_name_suffix=output.suffix,
        num_shards=num_shards,
        compression_type=beam.io.filesystem.CompressionTypes.GZIP
        if config.gzip_compress
        else beam.io.filesystem.CompressionTypes.UNCOMPRESSED,
    )
    result = pipeline.run()
    result.wait_until_finish()
    counters = result.metrics().query()["counters"]
    counts = {c.key.metric.name: c.committed for c in counters}
    if not counts.get("instances", 1):
        raise InputError("The text holds no sentence.")
    return with_fill_rate(counts, config.max_seq_length)


def _blocks(source: TextSource) -> Iterator[Block]:
    return cut_blocks(source.lines())


def _records(block: Block, vocab, settings, config) -> Iterator[bytes]:
    from apache_beam.metrics import Metrics

    maker = _maker(vocab, settings, config)
    counts = collections.Counter()
    for chunk in maker.records(block.number, block.documents, counts):
        yield from chunk
    for name, count in counts.items():
        Metrics.counter("records", name).inc(count)


@functools.cache  # one for each worker process: its graphs are made once
def _maker(vocab, settings, config):
    with tempfile.TemporaryDirectory() as folder:
        vocab_file = Path(folder) / "vocab.txt"
        vocab_file.write_bytes(("\n".join(vocab) + "\n").encode())
        tokenizer = BertTokenizer(vocab_file, **dataclasses.asdict(settings))
        return InstanceMaker(tokenizer, config)
