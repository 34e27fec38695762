"""Blocks -> files of records, in this process or in several."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import gzip
import itertools
import multiprocessing
from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf

from keras_bert.pretraining.write.blocks_to_records import InstanceMaker
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block
from keras_bert.text.tokenizer import BertTokenizer

# Around the data of a record: its length, and checksums of both.
_TFRECORD_OVERHEAD = 8 + 4 + 4


@dataclasses.dataclass(frozen=True)
class Part:
    """The records of one block: a file of stretches of `sizes` bytes.

    Each stretch is a TFRecord file of its own, and what is appended to
    another one, compressed or not, is one too.
    """

    block: Block
    file: Path
    sizes: list[int]
    counts: dict[str, int]


def make_parts(
    blocks: Iterable[Block],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig,
    *,
    num_parts: int,
    num_workers: int,
    folder: Path,
) -> Iterator[Part]:
    """Yields a Part in `folder` for each block, in their order.

    No more blocks are taken ahead than two for each worker.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if num_workers == 1:
        maker = InstanceMaker(tokenizer, config)
        for block in blocks:
            yield _write_part(maker, block, num_parts, folder)
        return
    vocab_file = folder / "vocab.txt"
    vocab_file.write_bytes(("\n".join(tokenizer.vocab) + "\n").encode())
    with concurrent.futures.ProcessPoolExecutor(
        num_workers,
        # A forked TensorFlow hangs.
        multiprocessing.get_context("spawn"),
        _start_worker,
        (vocab_file, tokenizer.settings, config),
    ) as executor:
        waiting = collections.deque()
        try:
            for block in blocks:
                future = executor.submit(_work, block, num_parts, folder)
                waiting.append((block, future))
                if len(waiting) == 2 * num_workers:
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        except concurrent.futures.BrokenExecutor as error:
            raise ChildProcessError(
                "A worker process ended before its work was done, perhaps for "
                "want of memory; the same command goes on where it was, with "
                "fewer num_workers if need be."
            ) from error
        finally:
            executor.shutdown(cancel_futures=True)


_maker: InstanceMaker | None = None  # of this worker process


def _start_worker(vocab_file, settings, config):
    global _maker
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tokenizer = BertTokenizer(vocab_file, **dataclasses.asdict(settings))
    _maker = InstanceMaker(tokenizer, config)


def _work(block, num_parts, folder):
    part = _write_part(_maker, block, num_parts, folder)
    return part.file, part.sizes, part.counts  # the text need not come back


def _result(block, future):
    return Part(block, *future.result())


def _write_part(maker, block, num_parts, folder):
    file = folder / f"block-{block.number}"
    counts = collections.Counter()
    lengths = []
    try:
        with tf.io.TFRecordWriter(str(file)) as writer:
            for records in maker.records(block.number, block.documents, counts):
                for record in records:
                    writer.write(record)
                    lengths.append(len(record) + _TFRECORD_OVERHEAD)
    except tf.errors.OpError as error:
        raise OSError(f"Cannot write {file}: {error.message}") from error
    ends = [len(lengths) * i // num_parts for i in range(num_parts + 1)]
    sizes = [sum(lengths[a:b]) for a, b in itertools.pairwise(ends)]
    if maker.config.gzip_compress:
        sizes = _compress(file, sizes)
    return Part(block, file, sizes, dict(counts))


def _compress(file, sizes):
    """Compresses each stretch of the file; returns their new sizes."""
    compressed = file.with_name(f"{file.name}.gz")
    new_sizes = []
    with file.open("rb") as source, compressed.open("wb") as target:
        for size in sizes:
            # Without the time, so that the same seed makes the same bytes.
            new_sizes.append(
                target.write(gzip.compress(source.read(size), mtime=0))
            )
    compressed.replace(file)
    return new_sizes
