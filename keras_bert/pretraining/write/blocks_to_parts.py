"""Blocks -> parts: one folder of records for each block."""

from __future__ import annotations

import array
import collections
import concurrent.futures
import itertools
import multiprocessing
from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf

from keras_bert.io.whole_files import atomic_path, full_disk_named, write_json
from keras_bert.pretraining.write.blocks_to_records import (
    InstanceMaker,
    instance_maker,
)
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block
from keras_bert.text.tokenizer import BertTokenizer


def make_parts(
    blocks: Iterable[tuple[Block, Path]],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig,
    *,
    num_files: int,
    num_workers: int,
) -> Iterator[int]:
    """Makes a part of each block at its path; yields the block's characters.

    At most two blocks for each worker are in memory.
    """
    if num_workers == 1:
        maker = InstanceMaker(tokenizer, config)
        for block, path in blocks:
            yield make_part(maker, block, path, num_files)
        return
    with concurrent.futures.ProcessPoolExecutor(
        num_workers,
        # A forked TensorFlow hangs.
        multiprocessing.get_context("spawn"),
        _start_worker,
        (tokenizer.vocab, tokenizer.settings, config),
    ) as executor:
        waiting: collections.deque = collections.deque()
        try:
            for block, path in blocks:
                if len(waiting) == 2 * num_workers:
                    yield waiting.popleft().result()
                waiting.append(executor.submit(_work, block, path, num_files))
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


_maker: InstanceMaker | None = None  # of this worker process


def _start_worker(vocab, settings, config):
    global _maker
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    _maker = instance_maker(vocab, settings, config)


def _work(block, path, num_files):
    return make_part(_maker, block, path, num_files)


def make_part(
    maker: InstanceMaker, block: Block, path: Path, num_files: int
) -> int:
    """Makes the part of a block at `path`; returns the block's characters.

    A part is a folder that appears when it is whole: the TFRecord files "0" to
    `num_files` - 1, among which the records are divided evenly; beside each,
    unless it is compressed, the lengths of its records as int64, such as
    "0.lengths"; and `counts.json`.
    """
    counts: collections.Counter = collections.Counter()
    compression = "GZIP" if maker.config.gzip_compress else ""
    with full_disk_named(path, tf.errors.OpError), atomic_path(path) as folder:
        folder.mkdir()
        records = itertools.chain.from_iterable(
            maker.records(block.number, block.documents, counts)
        )
        total = counts["instances"]
        for i in range(num_files):
            # Each block starts at another file, so that all of them grow alike.
            file = folder / str((block.number + i) % num_files)
            size = total * (i + 1) // num_files - total * i // num_files
            lengths = array.array("q")
            with tf.io.TFRecordWriter(str(file), compression) as writer:
                for record in itertools.islice(records, size):
                    writer.write(record)
                    lengths.append(len(record))
            if not compression:
                file.with_name(f"{file.name}.lengths").write_bytes(lengths)
        write_json(folder / "counts.json", counts)
    return sum(map(len, block.documents))
