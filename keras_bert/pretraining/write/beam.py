"""The same files through Apache Beam, for text too large for one machine."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import is_whole, write_json
from keras_bert.pretraining.write.blocks_to_parts import make_part
from keras_bert.pretraining.write.blocks_to_records import instance_maker
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.parts_to_files import OutputFiles
from keras_bert.pretraining.write.run import open_outputs
from keras_bert.pretraining.write.source import TextSource
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

    The workers read the files of the text and make the records. They and the
    calling process must see the text and the folder of the output files under
    the same names. If a worker is lost and the runner repeats its work, the
    result is the same. A call with the same arguments resumes an interrupted
    run. It needs the extra: pip install 'keras-bert-tf[beam]'.

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
    parts_file = outputs.folder / "parts.json"
    parts_file.unlink(missing_ok=True)
    # No side inputs, and one output: the runner for Dask needs such a line.
    pipeline = beam.Pipeline(argv=pipeline_options or [])
    _ = (
        pipeline
        | "Units" >> beam.Create([*enumerate(source.units())])
        | "SpreadUnits" >> beam.Reshuffle()
        | "CutBlocks" >> beam.FlatMapTuple(_blocks)
        | "SpreadBlocks" >> beam.Reshuffle()
        | "MakeParts"
        >> beam.Map(_part, outputs, tokenizer.vocab, tokenizer.settings, config)
        | "PairWithNone" >> beam.Map(lambda part: (None, part))
        | "Gather" >> beam.GroupByKey()
        | "List" >> beam.Map(_list_parts, parts_file)
    )
    pipeline.run().wait_until_finish()
    if not parts_file.exists():
        raise InputError(
            f"The workers found no sentence, or {outputs.folder} is not the "
            "same folder for them and for this process."
        )
    parts = json.loads(parts_file.read_bytes())
    if parts["errors"]:
        raise InputError(parts["errors"][0])
    return outputs.join([outputs.folder / name for name in parts["names"]])


def _blocks(
    unit: int, lines: Callable[[], Iterator[str]]
) -> Iterator[Block | InputError]:
    """Yields the blocks of a unit.

    An InputError is passed on as a value: a runner repeats the work that
    raises one, and shows a traceback.
    """
    try:
        yield from cut_blocks(lines(), unit)
    except InputError as error:
        yield error


def _part(
    block: Block | InputError, outputs: OutputFiles, vocab, settings, config
) -> tuple[int, str] | InputError:
    """Makes the part of a block; returns the block's number and its name."""
    if isinstance(block, InputError):
        return block
    path = outputs.part(block)
    if outputs.missing and not is_whole(path):
        maker = _maker(vocab, settings, config)
        _make_once(
            path, lambda x: make_part(maker, block, x, outputs.num_files)
        )
    return block.number, path.name


def _make_once(path: Path, make: Callable[[Path], object]) -> None:
    """Makes a part, though a runner may give its block to two workers."""
    if is_remote(path):  # and so are the objects of both the same
        make(path)
        return
    attempt = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    make(attempt)
    try:
        attempt.rename(path)
    except OSError:
        if not path.exists():  # The other worker was not first.
            raise


# One for each worker process, so that its graphs are built once.
_maker = functools.cache(instance_maker)


def _list_parts(
    group: tuple[None, Iterable[tuple[int, str] | InputError]], path: Path
) -> None:
    """Writes the names of all parts in the order of their blocks."""
    parts = list(group[1])
    errors = [str(part) for part in parts if isinstance(part, InputError)]
    made = sorted(part for part in parts if not isinstance(part, InputError))
    write_json(path, {"errors": errors, "names": [name for _, name in made]})
