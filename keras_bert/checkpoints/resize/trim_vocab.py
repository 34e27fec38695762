"""A checkpoint -> a smaller one with the word pieces of given texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keras_bert.checkpoints.resize.checkpoint import (
    num_weights,
    read_checkpoint,
)
from keras_bert.checkpoints.resize.config import TrimVocabConfig
from keras_bert.checkpoints.resize.padding import padding_pieces
from keras_bert.checkpoints.resize.vocab_rows import write_with_vocab
from keras_bert.errors import InputError
from keras_bert.io.whole_files import check_is_new
from keras_bert.text.new_pieces import INSIDE
from keras_bert.text.word_counts import WordCounter, check_lines, count_tokens


def trim_vocab(
    checkpoint: str | Path,
    output_dir: str | Path,
    lines: Iterable[str],
    *,
    config: TrimVocabConfig | None = None,
) -> dict[str, float]:
    """Removes from a checkpoint the pieces that a text does not use.

    The special tokens stay, and with `keep_characters` all pieces of one
    character. The kept pieces keep their order and their weights, bit for bit,
    and get new ids. The state of the optimizer is not copied.

    A word whose pieces are all kept is split as before. So with a `min_count`
    of 1, every text of `lines` has the same pieces as before. Any other word
    is split into shorter pieces. With `keep_characters` it becomes [UNK] only
    if it was before, or if one of its characters is no piece of the old
    vocabulary, alone at the start of the word or with ## elsewhere.

    Example:
        >>> with open("corpus.txt") as lines:
        ...     figures = keras_bert.checkpoints.trim_vocab(
        ...         "pretrained", "small", lines
        ...     )
        >>> figures["vocab_size_before"], figures["vocab_size_after"]
        (31, 22)

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder, which gets `model.safetensors`,
            `bert_config.json`, `vocab.txt` and `tokenizer_config.json`. It
            appears when it is whole.
        lines: The text, in any order.
        config: Which pieces are kept.

    Returns:
        `vocab_size` and `num_weights`, both `_before` and `_after`.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the text has no word, or `output_dir` exists.
    """
    config = config or TrimVocabConfig()
    check_is_new(output_dir)
    check_lines(lines=lines)
    old = read_checkpoint(checkpoint)
    counter = WordCounter(old.tokenizer.settings)
    for line in lines:
        counter.add(line)
    word_counts = counter.counts()
    if not word_counts:
        raise InputError(
            "The text has no word, so no piece would be kept; give the text "
            "that the model is meant to read."
        )
    used = count_tokens(old.tokenizer, word_counts).per_piece
    special = set(old.tokenizer.special_tokens)
    kept = [
        i
        for i, piece in enumerate(old.tokenizer.vocab)
        if used[i] >= config.min_count
        or piece in special
        or (config.keep_characters and len(piece.removeprefix(INSIDE)) == 1)
    ]
    vocab = [old.tokenizer.vocab[i] for i in kept]
    padding = padding_pieces(vocab, config.pad_vocab_to_multiple)
    sources = [[i] for i in kept] + [[old.tokenizer.pad_id]] * len(padding)
    arrays = write_with_vocab(output_dir, old, vocab + padding, sources)
    return {
        "vocab_size_before": old.config.vocab_size,
        "vocab_size_after": len(sources),
        "num_weights_before": num_weights(old.arrays),
        "num_weights_after": num_weights(arrays),
    }
