"""Text -> pre-training records, in this process, in several, or with Beam."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import is_whole
from keras_bert.pretraining.write.blocks_to_parts import RecordMaker
from keras_bert.pretraining.write.config import (
    PretrainingDataConfig,
    digest_of_vocab,
)
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.parts_to_files import OutputFiles
from keras_bert.pretraining.write.source_to_lines import TextSource
from keras_bert.progress import Progress
from keras_bert.text.tokenizer import BertTokenizer


def create_pretraining_data(
    text: TextSource | Iterable[str],
    output_files: list[str | Path],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig | None = None,
    *,
    num_workers: int = 1,
) -> dict[str, float]:
    """Writes masked sentence pairs as records that `pretrain` reads.

    The text is cut between documents into blocks of about 4 million
    characters. A block ends with a large file, and holds several small ones.
    Random next sentences come from the same block, and the records are
    shuffled within it, so memory does not grow with the text. The same seed
    makes the same records, byte for byte, with any `num_workers`.

    A call with the same arguments resumes an interrupted run. If some files of
    a finished run are missing, it makes only these. While the files are
    written, the disk holds the records twice.

    Example:
        >>> counts = keras_bert.create_pretraining_data(
        ...     keras_bert.pretraining.TextSource("corpus.txt"),
        ...     ["a.tfrecord", "b.tfrecord"],
        ...     keras_bert.BertTokenizer("vocab.txt"),
        ... )
        >>> counts["documents"], counts["sentences"]
        (10, 20)

    Args:
        text: A source of text, or lines that count as one file: one sentence a
            line, and a blank line between documents. With
            `config.split_sentences` a line may hold several sentences.
        output_files: TFRecord files. They appear when all of them are whole,
            and the records are divided evenly among them. A `.json` beside the
            first file holds the settings and the counts.
        tokenizer: The tokenizer of the model.
        config: Sizes and rates; by default those of the paper.
        num_workers: Number of processes; 1 means the calling process alone.

    Returns:
        The counts `documents`, `sentences`, `tokens` and `instances`. Without
        `dynamic_masking` also `random_next`, the pairs with a random next
        sentence; `input_tokens` and `masked_tokens` of all records; and
        `fill_rate`, the share of positions that are not padding.

    Raises:
        InputError: The text holds no sentence, or the files exist and were
            made with other settings or of another text.
    """
    for name, value in (("text", text), ("output_files", output_files)):
        if isinstance(value, (str, Path)):
            raise InputError(
                f"The {name} is {value!r}; give a TextSource of the file, or "
                "lines, as the text, and a list of names as the output_files."
            )
    if num_workers < 1:
        raise InputError(f"num_workers is {num_workers}, but must be above 0.")
    config = config or PretrainingDataConfig()
    outputs = open_outputs(output_files, tokenizer, config)
    maker = RecordMaker(tokenizer, config)
    units = text.units() if isinstance(text, TextSource) else [lambda: text]
    parts = []

    def missing_parts():
        for unit, lines in enumerate(units):
            for block in cut_blocks(lines(), unit):
                parts.append(outputs.part(block))
                if outputs.missing and not is_whole(parts[-1]):
                    yield block, parts[-1], outputs.num_files

    with Progress("Writing", unit="characters") as progress:
        for num_characters in _made(maker, missing_parts(), num_workers):
            progress.update(num_characters)
    return outputs.join(parts)


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


def open_outputs(
    output_files: list[str | Path],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig,
) -> OutputFiles:
    """Returns the files of a run, whose settings must be equal to resume it."""
    settings = dataclasses.asdict(config) | dataclasses.asdict(
        tokenizer.settings
    )
    settings |= {
        "vocab": digest_of_vocab(tokenizer.vocab),
        "output_files": [to_path(file).name for file in output_files],
    }
    return OutputFiles(output_files, settings)


def _made(maker, parts, num_workers) -> Iterator[int]:
    """Makes the parts; yields what `make_part` returns, in order.

    At most two blocks for each worker are in memory.
    """
    if num_workers == 1:
        yield from (maker.make_part(*part) for part in parts)
        return
    with concurrent.futures.ProcessPoolExecutor(
        num_workers,
        multiprocessing.get_context("spawn"),  # A forked TensorFlow hangs.
        _use_one_core,
    ) as executor:
        waiting: collections.deque = collections.deque()
        try:
            for part in parts:
                if len(waiting) == 2 * num_workers:
                    yield waiting.popleft().result()
                waiting.append(executor.submit(maker.make_part, *part))
            while waiting:
                yield waiting.popleft().result()
        except concurrent.futures.BrokenExecutor as error:
            raise ChildProcessError(
                "A worker process died, perhaps because memory ran out; run "
                "the same command again to continue, with fewer num_workers "
                "if memory is short."
            ) from error
        finally:
            executor.shutdown(cancel_futures=True)


def _use_one_core():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


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
