"""The same files through Apache Beam, for text too large for one machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.whole_files import is_whole
from keras_bert.pretraining.write.blocks_to_parts import RecordMaker
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.parts_to_files import OutputFiles
from keras_bert.pretraining.write.run import (
    create_pretraining_data,
    open_outputs,
)
from keras_bert.pretraining.write.source_to_lines import TextSource
from keras_bert.text.tokenizer import BertTokenizer


def create_pretraining_data_with_beam(
    source: TextSource,
    output_files: list[str | Path],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig | None = None,
    *,
    pipeline_options: list[str] | None = None,
) -> dict[str, float]:
    """Writes the files of `create_pretraining_data`, byte for byte.

    The workers read the files of the text and make the records. Then this
    process reads the text too, and joins what they made in its order. All must
    see the text and the folder of the output files under the same names. If a
    worker is lost and the runner repeats its work, the result is the same. A
    call with the same arguments resumes an interrupted run. It needs the extra:
    pip install 'keras-bert-tf[beam]'.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> counts = keras_bert.pretraining.create_pretraining_data_with_beam(
        ...     keras_bert.pretraining.TextSource("corpus.txt"),
        ...     ["a.tfrecord", "b.tfrecord"],
        ...     tokenizer,
        ...     pipeline_options=["--runner=FnApiRunner"],
        ... )
        >>> counts["documents"]
        10

    Args:
        source: The text.
        output_files: TFRecord files; see `create_pretraining_data`.
        tokenizer: The tokenizer of the model.
        config: Sizes and rates; by default those of the paper.
        pipeline_options: Beam's options, such as ["--runner=FlinkRunner"].

    Returns:
        The counts of `create_pretraining_data`.

    Raises:
        InputError: See `create_pretraining_data`.
        InputError: Apache Beam is not installed, or the workers and this
            process do not share the folder of the output files.
    """
    try:
        import apache_beam as beam
    except ImportError as error:
        raise InputError(
            "Apache Beam is not installed; pip install 'keras-bert-tf[beam]'."
        ) from error
    config = config or PretrainingDataConfig()
    outputs = open_outputs(output_files, tokenizer, config)
    if outputs.missing:
        # No side inputs, and one output: the runner for Dask needs such a line.
        pipeline = beam.Pipeline(argv=pipeline_options or [])
        _ = (
            pipeline
            | "Units" >> beam.Create([*enumerate(source.units())])
            | "SpreadUnits" >> beam.Reshuffle()
            | "CutBlocks" >> beam.FlatMapTuple(_blocks)
            | "SpreadBlocks" >> beam.Reshuffle()
            | "MakeParts"
            >> beam.Map(_make_part, RecordMaker(tokenizer, config), outputs)
        )
        pipeline.run().wait_until_finish()
        has_text = any(
            True for unit in source.units() for _ in cut_blocks(unit())
        )
        if has_text and not outputs.folder.is_dir():
            raise InputError(
                f"{outputs.folder} is not the same folder for the workers and "
                "for this process; give output_files on a disk that they share."
            )
    return create_pretraining_data(source, output_files, tokenizer, config)


def _blocks(unit: int, lines: Callable[[], Iterator[str]]) -> Iterator[Block]:
    """Yields the blocks of a unit, up to one that cannot be read.

    A runner would repeat the work that raises an error, and show a traceback.
    The calling process will find the error too.
    """
    with contextlib.suppress(InputError):
        yield from cut_blocks(lines(), unit)


def _make_part(block: Block, maker: RecordMaker, outputs: OutputFiles) -> None:
    path = outputs.part(block)
    if not is_whole(path):
        maker.make_part(block, path, outputs.num_files)
