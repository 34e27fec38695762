"""Documents -> pairs of sentences with masks -> records (paper, A.2)."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from absl import logging
from tqdm import tqdm

from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.lines_to_blocks import Block, cut_blocks
from keras_bert.pretraining.write.parts import make_parts
from keras_bert.pretraining.write.shards import RecordShards
from keras_bert.text.tokenizer import BertTokenizer


def create_pretraining_data(
    lines: Iterable[str],
    output_files: list[str | Path],
    tokenizer: BertTokenizer,
    config: PretrainingDataConfig | None = None,
    *,
    num_workers: int = 1,
) -> dict[str, float]:
    """Writes masked sentence pairs as records that `pretrain` reads.

    The text streams through in blocks of about 4 million characters, cut
    between documents. A block is the pool that random next sentences are
    drawn from, and its records are shuffled; so memory does not grow with the
    text. The same seed makes the same records, byte for byte, whatever
    `num_workers`. Each block is dealt evenly over the files.

    A run that was interrupted goes on where it was, when called with the same
    arguments; where files are missing, only these are made.

    Args:
        lines: One sentence a line, a blank line between documents. With
            `config.split_sentences` a line may hold many sentences.
        output_files: TFRecord files; appear when all are whole. Beside the
            first, a `.json` tells the settings and the counts.
        tokenizer: Makes the ids; its vocabulary is that of the model.
        config: Sizes and rates; by default those of the paper.
        num_workers: Processes; with 1, this one does all the work.

    Returns:
        Counts: `documents`, `sentences`, `tokens`, `instances`; and, of pairs
        that are not drawn later, those with a random next sentence,
        `random_next`, the `input_tokens` and `masked_tokens` of all, and
        `fill_rate`, the share of positions that are not padding.

    Raises:
        InputError: Where the text holds no sentence, or the files are there
            with other settings or of another text.
    """
    config = config or PretrainingDataConfig()
    shards = RecordShards(
        output_files, _settings(output_files, tokenizer, config)
    )
    first = Path(output_files[0])
    folder = first.with_name(f".{first.name}.blocks")
    last = None

    def missing_blocks() -> Iterator[Block]:
        nonlocal last
        for last in cut_blocks(lines):
            if not shards.has(last):
                yield last

    progress = tqdm(
        desc="Writing", unit=" characters", unit_scale=True, disable=None
    )
    try:
        for part in make_parts(
            missing_blocks(),
            tokenizer,
            config,
            num_parts=len(output_files),
            num_workers=num_workers,
            folder=folder,
        ):
            shards.append(part)
            part.file.unlink()
            progress.update(sum(map(len, part.block.documents)))
    finally:
        progress.close()
        shutil.rmtree(folder, ignore_errors=True)
    counts = shards.finish(last)
    if counts["documents"] == 1:
        logging.warning(
            "The text is one document, so a random next sentence comes from "
            "the same one; put a blank line between documents."
        )
    return counts


def _settings(output_files, tokenizer, config):
    """What must be the same for a run to go on."""
    vocab = hashlib.blake2b("\n".join(tokenizer.vocab).encode(), digest_size=16)
    settings = dataclasses.asdict(config) | dataclasses.asdict(
        tokenizer.settings
    )
    return settings | {
        "vocab": vocab.hexdigest(),
        "output_files": [Path(file).name for file in output_files],
    }
