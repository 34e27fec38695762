"""A checkpoint -> a copy with more or fewer word pieces."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from absl import logging

from keras_bert.checkpoints.heads import GENERATOR
from keras_bert.checkpoints.huggingface import UNTIED_BIAS, UNTIED_DECODER
from keras_bert.checkpoints.names import StoredArray
from keras_bert.checkpoints.resize.checkpoint import (
    WholeCheckpoint,
    read_checkpoint,
    write_checkpoint,
)
from keras_bert.checkpoints.resize.config import (
    ExtendVocabConfig,
    TrimVocabConfig,
)
from keras_bert.errors import InputError
from keras_bert.io.whole_files import check_is_new
from keras_bert.text import vocab_learner
from keras_bert.text.joined_pieces import choose_joins, join_words, sources_of
from keras_bert.text.new_pieces import INSIDE, choose_new_pieces, split_word

if TYPE_CHECKING:
    from keras_bert.text.tokenizer import BertTokenizer

# Every 20th line is held out.
_HELD_OUT = 20
# The weights with one row or column for each piece -> the axis of the pieces.
_AXES = {
    "embeddings/word_embeddings": 0,
    "masked_lm/output_bias": 0,
    f"{GENERATOR}masked_lm/output_bias": 0,
    UNTIED_DECODER: 1,
    UNTIED_BIAS: 0,
}


def extend_vocab(
    checkpoint: str | Path,
    output_dir: str | Path,
    lines: Iterable[str] = (),
    *,
    words: Iterable[str] = (),
    config: ExtendVocabConfig | None = None,
) -> dict[str, float]:
    """Writes a checkpoint with more pieces, from a text or from given words.

    The pieces learned from a text are first the characters without which some
    of its words are [UNK], and then the pieces that save the most tokens; see
    `choose_new_pieces`.

    The new pieces come at the end, so all old ids stay the same, including the
    ids of [unused] pieces. The old tokenizer splits each new piece into old
    pieces. It treats a new piece with ## as the middle of a word, and a
    character that no old piece covers becomes [UNK]. The embedding of the new
    piece is the mean of these old pieces' embeddings, and its output bias is
    the mean of their output biases. All other weights stay the same, bit for
    bit. The state of the optimizer is not copied.

    In a SentencePiece (Unigram) or byte-level BPE vocabulary, a new piece is
    always the concatenation of old pieces, so no character is added. In a text,
    a given word becomes one piece where a space precedes it.

    Example:
        >>> figures = keras_bert.checkpoints.extend_vocab(
        ...     "pretrained", "extended", words=["foxes"]
        ... )
        >>> figures["vocab_size_before"], figures["vocab_size_after"]
        (31, 32)
        >>> keras_bert.load_tokenizer("extended").vocab[-1]
        'foxes'

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder for `model.safetensors`, `bert_config.json`,
            `vocab.txt` and `tokenizer_config.json`. It appears when it is
            complete.
        lines: The lines of the text to learn from, in any order. Every 20th
            line is held out for the figures.
        words: The words to add, if there are no `lines`. Each is one word,
            without spaces or punctuation. A word that begins with ## is a piece
            for the middle of words.
        config: The settings; by default, `ExtendVocabConfig()`.

    Returns:
        Figures, keyed by name: `vocab_size_before` and `vocab_size_after`. If
        there are held-out lines, the figures also describe these lines:
        `num_words`, `tokens_per_word_before`, `tokens_per_word_after`,
        `unknown_words_before` and `unknown_words_after`. A punctuation mark
        counts as a word.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If nothing can be added, if one of the `words` has a space
            or punctuation, or if `output_dir` exists.
    """
    config = ExtendVocabConfig.checked(config)
    check_is_new(output_dir)
    vocab_learner.check_lines(lines=lines, words=words)
    whole = read_checkpoint(checkpoint)
    tokenizer = whole[2]
    vocab = tokenizer.vocab
    words = [vocab_learner.checked_line(word).strip() for word in words]
    words = [word for word in words if word]
    held_out: list[str] = []
    lines = _without(held_out, lines)
    if first := next(lines, None):
        lines = itertools.chain([first], lines)
    if bool(words) == bool(first):
        what = "Both a text and words were" if words else "No word was"
        raise InputError(
            f"{what} given; give a text to learn from, or words to add."
        )
    has_word_pieces = tokenizer.has_word_pieces
    extend = _extend_word_pieces if has_word_pieces else _extend_json
    new_tokenizer, sources = extend(tokenizer, lines, words, config)
    new = new_tokenizer.vocab[len(vocab) :]
    if not new:
        raise InputError(
            f"The vocabulary of {checkpoint} already has a piece for every "
            f"{'given' if words else 'frequent'} word."
        )
    sources = [*([i] for i in range(len(vocab))), *sources]
    _write(output_dir, whole, new_tokenizer, sources)
    logging.info("Added %d pieces, such as %s", len(new), ", ".join(new[:10]))
    figures: dict[str, float] = {
        "vocab_size_before": len(vocab),
        "vocab_size_after": len(vocab) + len(new),
    }
    if tokenizer.json:
        num_words = sum(len(line.split()) for line in held_out)
    else:
        counts = vocab_learner.count_words(held_out, tokenizer.settings)
        num_words = sum(counts.values())
    if not num_words:
        return figures
    figures["num_words"] = num_words
    for when, x in (("before", tokenizer), ("after", new_tokenizer)):
        per_piece = vocab_learner.count_ids(x, held_out)
        figures[f"tokens_per_word_{when}"] = float(per_piece.sum() / num_words)
        figures[f"unknown_words_{when}"] = int(per_piece[x.unk_id])
    return figures


def _extend_word_pieces(
    tokenizer: "BertTokenizer",
    lines: Iterable[str],
    words: Sequence[str],
    config: ExtendVocabConfig,
) -> tuple["BertTokenizer", list[list[int]]]:
    """Returns a tokenizer with more pieces, and the sources of the new pieces.

    The sources of a new piece are the ids of the old pieces into which it is
    split. The vocabulary must be WordPiece.
    """
    vocab = tokenizer.vocab
    if words:
        new = _pieces_of(words, tokenizer)
    else:
        counts = vocab_learner.count_words(lines, tokenizer.settings)
        new = choose_new_pieces(counts, vocab, config.num_new_pieces)
    ids = {piece: i for i, piece in enumerate(vocab)}
    sources = [
        [ids.get(part, tokenizer.unk_id) for part in split_word(piece, ids)]
        for piece in new
    ]
    return tokenizer.with_vocab((*vocab, *new)), sources


def _extend_json(
    tokenizer: "BertTokenizer",
    lines: Iterable[str],
    words: Sequence[str],
    config: ExtendVocabConfig,
) -> tuple["BertTokenizer", list[list[int]]]:
    """Like `_extend_word_pieces`, for Unigram and BPE vocabularies."""
    vocab, values = tokenizer.vocab, tokenizer.json
    assert values is not None
    if words:
        is_bpe = values.model["type"] == "BPE"
        joins = join_words(tokenizer, words, in_pairs=is_bpe)
    else:
        joins = choose_joins(tokenizer, lines, config.num_new_pieces)
    values = values.with_joins(joins, len(vocab))
    new_tokenizer = tokenizer.from_settings(values, tokenizer.settings)
    return new_tokenizer, sources_of(joins, vocab)


def trim_vocab(
    checkpoint: str | Path,
    output_dir: str | Path,
    lines: Iterable[str],
    *,
    config: TrimVocabConfig | None = None,
) -> dict[str, float]:
    """Writes a checkpoint without the pieces that a text does not use.

    The special tokens stay. With `keep_characters`, all single-character pieces
    stay too. The kept pieces get new ids, in the same order as before; their
    weights stay the same, bit for bit. The state of the optimizer is not
    copied.

    A word whose pieces are all kept is split as before. So with a `min_count`
    of 1 and no `vocab_size`, every text of `lines` has the same pieces as
    before. Any other word is split into shorter pieces. With `keep_characters`,
    such a word becomes [UNK] only if it was [UNK] before, or if the old
    vocabulary lacks a piece for one of its characters: the character alone at
    the start of the word, or the character with ## elsewhere.

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
        output_dir: A new folder for `model.safetensors`, `bert_config.json`,
            `vocab.txt` and `tokenizer_config.json`. It appears when it is
            complete.
        lines: The lines of the text, in any order.
        config: The settings; by default, `TrimVocabConfig()`.

    Returns:
        The figures `vocab_size_before` and `vocab_size_after`, keyed by name.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the text has no word, if `vocab_size` is less than the
            number of special tokens and characters, or if `output_dir` exists.
    """
    config = TrimVocabConfig.checked(config)
    check_is_new(output_dir)
    vocab_learner.check_lines(lines=lines)
    whole = read_checkpoint(checkpoint)
    tokenizer = whole[2]
    used = vocab_learner.count_ids(tokenizer, lines)
    if not used.any():
        raise InputError(
            "The text has no word, so no piece can be kept; give another text."
        )
    vocab = tokenizer.vocab
    special = {token.content for token in tokenizer.settings.added_tokens}
    special |= set(tokenizer.special_tokens)
    if tokenizer.json:
        special |= tokenizer.json.pieces_to_keep
    characters: set[str] = set()
    if config.keep_characters:
        characters = {x for x in map(_without_mark, vocab) if len(x) == 1}
    if not config.keep_unseen_characters:
        characters &= set("".join(vocab[i] for i in np.flatnonzero(used)))
    always = special | {x for x in vocab if _without_mark(x) in characters}
    ids = {i for i, piece in enumerate(vocab) if piece in always}
    size = config.vocab_size or len(vocab)
    if size < len(ids):
        raise InputError(
            f"vocab_size is {size}, but there are already {len(ids)} special "
            "tokens and single-character pieces; give a larger number, "
            "keep_characters=False, or keep_unseen_characters=False."
        )
    frequent = [i for i in np.argsort(-used, kind="stable") if i not in ids]
    frequent = [i for i in frequent if used[i] >= config.min_count]
    ids.update(frequent[: size - len(ids)])
    kept = {vocab[i]: [i] for i in sorted(ids)}
    trimmed = tokenizer.with_vocab(tuple(kept))
    _write(output_dir, whole, trimmed, [*kept.values()])
    return {"vocab_size_before": len(vocab), "vocab_size_after": len(kept)}


def _without_mark(piece: str) -> str:
    return piece.removeprefix(INSIDE).removeprefix("\u2581")


def _without(held_out: list[str], lines: Iterable[str]) -> Iterator[str]:
    """Yields the nonblank lines, except each 20th, which goes to `held_out`."""
    lines = map(vocab_learner.checked_line, lines)
    texts = (line for line in lines if line.strip())
    for number, line in enumerate(texts, 1):
        if number % _HELD_OUT:
            yield line
        else:
            held_out.append(line)


def _pieces_of(words: Sequence[str], tokenizer: "BertTokenizer") -> list[str]:
    """Returns the words that are not pieces yet, cleaned like words of a text.

    Raises InputError if the tokenizer finds several words in one of the
    `words`.
    """
    rows = vocab_learner.words_of_texts(
        [word.removeprefix(INSIDE) for word in words], tokenizer.settings
    )
    new: dict[str, None] = {}  # a dict is an ordered set
    for word, row in zip(words, rows, strict=True):
        if "\ufffd" in word:
            raise InputError(
                f"{word!r} contains U+FFFD, which replaces bytes that are not "
                "valid UTF-8; convert the text to UTF-8."
            )
        if len(row) != 1:
            raise InputError(
                f"{word!r} is not one word: the tokenizer splits it into "
                f"{row}. Give one word per line, without spaces or punctuation."
            )
        new[(INSIDE if word.startswith(INSIDE) else "") + row[0]] = None
    known = set(tokenizer.vocab)
    return [piece for piece in new if piece not in known]


def _write(
    output_dir: str | Path,
    whole: WholeCheckpoint,
    tokenizer: "BertTokenizer",
    sources: list[list[int]],
) -> None:
    """Writes a checkpoint with the pieces of the given `tokenizer`.

    `sources` has the old ids for each piece. The row of a piece is the mean of
    the rows with these old ids; if there is one id, its row is copied bit for
    bit.
    """
    arrays, config, _, task = whole
    for path, axis in _AXES.items():
        if path in arrays:
            arrays[path] = _resized(arrays[path], axis, sources)
    config = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)
    write_checkpoint(output_dir, (arrays, config, tokenizer, task))


def _resized(
    array: StoredArray, axis: int, sources: list[list[int]]
) -> StoredArray:
    shape = list(array.shape)
    shape[axis] = len(sources)
    first = np.array([ids[0] for ids in sources])

    def read() -> np.ndarray:
        old = np.moveaxis(array.read(), axis, 0)
        new = old[first]
        for row, ids in enumerate(sources):
            if len(ids) > 1:
                new[row] = old[list(ids)].mean(axis=0, dtype=np.float64)
        return np.moveaxis(new, 0, axis)

    return StoredArray(tuple(shape), read)
