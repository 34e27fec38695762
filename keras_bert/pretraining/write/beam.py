"""The same records through Apache Beam, for text too large for one machine."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.pretraining.write.blocks_to_records import instance_maker
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.parts_to_files import with_fill_rate
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
    """Writes the records of `create_pretraining_data`, in any order.

    One worker reads the text and cuts it into blocks; all workers make
    records. It needs the extra: pip install 'keras-bert-tf[beam]'.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> counts = keras_bert.create_pretraining_data_with_beam(
        ...     keras_bert.TextSource("corpus.txt"),
        ...     "beam.tfrecord",
        ...     tokenizer,
        ...     pipeline_options=["--runner=DirectRunner"],
        ... )
        >>> counts["documents"]
        10

    Args:
        source: Text that all workers can read under the same name.
        output_file: The name of all files, to which Beam adds numbers:
            "out/a.tfrecord" becomes "out/a-00000-of-00005.tfrecord".
        tokenizer: The tokenizer of the model.
        config: Sizes and rates; by default those of the paper.
        num_shards: Number of files; with 0 the runner chooses it.
        pipeline_options: Beam's options, such as ["--runner=FlinkRunner"].

    Returns:
        The counts, if the runner reports them. No `.json` is written.

    Raises:
        InputError: The text holds no sentence, or there are several names.
        InputError: Apache Beam is not installed.
    """
    if "," in output_file:
        raise InputError(
            f"With Apache Beam, give one output file, not {output_file}; Beam "
            "makes several of it and adds their numbers."
        )
    try:
        import apache_beam as beam
    except ImportError as error:
        raise InputError(
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
    counts: collections.Counter = collections.Counter()
    for chunk in maker.records(block.number, block.documents, counts):
        yield from chunk
    for name, count in counts.items():
        Metrics.counter("records", name).inc(count)


# One for each worker process, so that its graphs are built once.
_maker = functools.cache(instance_maker)
