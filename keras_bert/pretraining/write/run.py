"""Text -> pre-training records, in this process or in several."""

import collections
import concurrent.futures
import dataclasses
import multiprocessing
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError, check_count
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import is_whole
from keras_bert.pretraining.write import worker
from keras_bert.pretraining.write.blocks_to_parts import RecordMaker
from keras_bert.pretraining.write.config import PretrainingDataConfig, digest
from keras_bert.pretraining.write.parts_to_files import OutputFiles
from keras_bert.pretraining.write.text_to_blocks import TextSource, cut_blocks
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

    The text is cut between documents into blocks of about 4 million characters.
    No block extends beyond the end of a large file; small files share a block.
    Random next sentences come from the same block, and the records are shuffled
    within the block, so memory does not grow with the text. The same seed makes
    the same records, byte for byte, with any `num_workers`.

    A call with the same arguments resumes an interrupted run. While the files
    are written, the records are on the disk twice.

    Example:
        >>> counts = keras_bert.create_pretraining_data(
        ...     keras_bert.pretraining.TextSource("corpus.txt"),
        ...     ["a.tfrecord", "b.tfrecord"],
        ...     keras_bert.BertTokenizer("vocab.txt"),
        ... )
        >>> counts["documents"], counts["sentences"]
        (10, 20)

    Args:
        text: A source of text, or lines that count as one file: one sentence
            per line, and a blank line between documents. With
            `config.split_sentences`, a line may have several sentences.
        output_files: The TFRecord files. They appear when all of them are
            complete, and the records are divided evenly among them. A `.json`
            beside the first file has the settings and the counts.
        tokenizer: The tokenizer of the model.
        config: The sizes and rates; by default, as in the paper.
        num_workers: The number of processes; 1 means the calling process alone.

    Returns:
        The counts `documents`, `sentences`, `tokens` and `instances`;
        `one_sentence_documents`; and `cut_tokens`, the tokens that are lost in
        sentences longer than a row. Without `dynamic_masking`, the counts
        include `random_next`, the pairs with a random next sentence;
        `input_tokens` and `masked_tokens` of all records; `unmasked_instances`;
        and `fill_rate`, the share of positions that are not padding. If much of
        the text is lost, a warning says why.

    Raises:
        InputError: If the text has no sentence, or if the files exist and were
            made with other settings or from another text.
    """
    for name, value in (("text", text), ("output_files", output_files)):
        if isinstance(value, (str, Path)):
            raise InputError(
                f"The {name} is {value!r}; give a TextSource or lines as the "
                "text, and a list of names as the output_files."
            )
    if not isinstance(tokenizer, BertTokenizer):
        raise InputError(
            f"The tokenizer is {tokenizer!r:.80}; give a BertTokenizer, "
            "such as BertTokenizer('vocab.txt') or load_tokenizer(folder)."
        )
    check_count("num_workers", num_workers)
    if isinstance(text, TextSource):
        for file in output_files:
            text.check_is_not(file)
    config = PretrainingDataConfig.checked(config)
    settings = dataclasses.asdict(config)
    settings |= tokenizer.settings.to_values() | {
        "vocab": digest("\n".join(tokenizer.vocab)),
        "output_files": [to_path(file).name for file in output_files],
    }
    if tokenizer.json:
        settings["tokenizer_json"] = digest("\n".join(tokenizer.rules))
    outputs = OutputFiles(output_files, settings)
    units = text.units() if isinstance(text, TextSource) else [text]
    parts = []

    def missing_parts() -> Any:
        for unit, lines in enumerate(units):
            for block in cut_blocks(lines, unit):
                parts.append(outputs.part(block))
                if not outputs.is_finished and not is_whole(parts[-1]):
                    yield block, parts[-1], outputs.num_files

    with Progress("Writing", unit="characters") as progress:
        made = _make_parts(missing_parts(), num_workers, tokenizer, config)
        for num_characters in made:
            progress.update(num_characters)
    return outputs.join(parts)


def _make_parts(
    parts: Any, num_workers: int, *maker_arguments: Any
) -> Iterator[int]:
    """Makes the parts; yields what `make_part` returns, in order.

    At most two blocks for each worker are in memory.
    """
    if num_workers == 1:
        maker = RecordMaker(*maker_arguments)
        yield from (maker.make_part(*part) for part in parts)
        return
    with concurrent.futures.ProcessPoolExecutor(
        num_workers,
        multiprocessing.get_context("spawn"),  # A forked TensorFlow hangs.
        worker.start,
        (pickle.dumps(maker_arguments),),
    ) as executor:
        waiting: collections.deque = collections.deque()
        try:
            for part in parts:
                if len(waiting) == 2 * num_workers:
                    yield waiting.popleft().result()
                waiting.append(executor.submit(worker.make_part, *part))
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
