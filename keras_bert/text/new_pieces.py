"""Words of a text -> their pieces, and the pieces that a vocabulary lacks."""

import collections
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping

from keras_bert.text.tokenizer_settings import SPECIAL_TOKENS, TokenizerSettings

INSIDE = "##"
# Limits time and memory: rarer words are not considered.
_MAX_WORDS = 500_000
# A piece that occurs less often would hardly be trained.
_MIN_COUNT = 5
_MAX_CHARS_PER_PIECE = 50
_UNK = SPECIAL_TOKENS.unk


def choose_new_pieces(
    word_counts: Mapping[str, int], vocab: Iterable[str], num_pieces: int
) -> list[str]:
    """Returns at most `num_pieces` new pieces, which save tokens in a text.

    First come the characters without which words are [UNK], at most a quarter
    of all new pieces. Then, one at a time, comes the piece that saves the most
    tokens of the text, given the pieces that were chosen before. This piece
    joins neighboring pieces of a word, so the rest of the word is split as
    before.
    """
    ranked = _ranked(word_counts)[:_MAX_WORDS]
    longest = TokenizerSettings.max_input_chars_per_word
    counts = {word: n for word, n in ranked if len(word) <= longest}
    pieces = set(vocab)
    missing: collections.Counter[str] = collections.Counter()
    for word, n in counts.items():
        if _UNK in split_word(word, pieces):
            forms = {word[0], *(INSIDE + character for character in word[1:])}
            missing.update(dict.fromkeys(forms - pieces, n))
    characters = [form for form, n in _ranked(missing) if n >= _MIN_COUNT]
    characters = characters[: num_pieces // 4]
    pieces.update(characters)
    splits = {
        word: split
        for word in counts
        if _UNK not in (split := split_word(word, pieces))
    }
    joined = _join(counts, splits, pieces, num_pieces - len(characters))
    harmful = _harmful(splits, joined, pieces)
    return characters + [piece for piece in joined if piece not in harmful]


def split_word(word: str, pieces: Collection[str]) -> list[str]:
    """Returns the pieces of a word, split as `BertTokenizer` does.

    From left to right, the longest piece that fits is taken. One case differs
    from the tokenizer: here, a character that no piece covers becomes [UNK],
    and the rest of the word is still split. In the tokenizer, the whole word
    becomes [UNK].

    If `word` is a piece with ##, all its parts have ##.
    """
    text = word.removeprefix(INSIDE)
    prefix = "" if len(text) == len(word) else INSIDE
    split, start = [], 0
    while start < len(text):
        for end in range(len(text), start, -1):
            piece = prefix + text[start:end]
            if piece in pieces:
                break
        else:
            piece, end = _UNK, start + 1
        split.append(piece)
        start, prefix = end, INSIDE
    return split


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Returns names and counts, most frequent first; ties sort by name."""
    return sorted(counts.items(), key=lambda x: (-x[1], x[0]))


def _join(
    counts: Mapping[str, int],
    splits: Mapping[str, list[str]],
    pieces: set[str],
    num_pieces: int,
) -> list[str]:
    """Returns the pieces that save the most tokens, and adds them to `pieces`.

    `splits` maps each word whose split may change to its pieces.
    """
    num_pairs: collections.Counter = collections.Counter()
    for word, split in splits.items():
        for pair in itertools.pairwise(split):
            num_pairs[pair] += counts[word]
    pairs = {pair for pair, n in num_pairs.items() if n >= _MIN_COUNT}
    saved: collections.Counter = collections.Counter()
    for word, split in splits.items():
        for piece, num_joined in _joined(split, pairs):
            saved[piece] += counts[word] * (num_joined - 1)
    # As other pieces are chosen, a piece saves fewer tokens, so the numbers in
    # the heap are upper bounds. Only the first number has to be counted again.
    heap = [(-n, piece) for piece, n in saved.items() if n >= _MIN_COUNT]
    heapq.heapify(heap)
    # A dict is an ordered set.
    words_with: dict = {piece: {} for _, piece in heap}
    for word, split in splits.items():
        for piece, _ in _joined(split, pairs):
            if piece in words_with:
                words_with[piece][word] = None
    num_tokens = {word: len(split) for word, split in splits.items()}
    chosen: list[str] = []
    while heap and len(chosen) < num_pieces:
        _, piece = heapq.heappop(heap)
        pieces.add(piece)
        after = {x: len(split_word(x, pieces)) for x in words_with[piece]}
        num_saved = sum(
            counts[word] * (num_tokens[word] - n) for word, n in after.items()
        )
        is_frequent, entry = num_saved >= _MIN_COUNT, (-num_saved, piece)
        if is_frequent and (not heap or entry <= heap[0]):
            chosen.append(piece)
            num_tokens.update(after)
            continue
        pieces.remove(piece)
        if is_frequent:
            heapq.heappush(heap, entry)
    return chosen


def _joined(
    split: list[str], pairs: Collection[tuple[str, str]]
) -> Iterator[tuple[str, int]]:
    """Yields each joined piece of a split word, and how many parts it joins.

    Only neighbors in `pairs` are joined.
    """
    for first in range(len(split)):
        joined = split[first]
        for last in range(first + 1, len(split)):
            joined += split[last].removeprefix(INSIDE)
            is_long = len(joined) > _MAX_CHARS_PER_PIECE
            if is_long or (split[last - 1], split[last]) not in pairs:
                break
            yield joined, last - first + 1


def _harmful(
    words: Iterable[str], new: Collection[str], pieces: set[str]
) -> set[str]:
    """Removes and returns new pieces that make a word impossible to split.

    A split takes the longest piece first, so a new piece can leave a rest of
    the word that no piece covers.
    """
    harmful: set[str] = set()
    while blocking := {
        next(piece for piece in split if piece in new and piece not in harmful)
        for word in words
        if _UNK in (split := split_word(word, pieces))
    }:
        pieces -= blocking
        harmful |= blocking
    return harmful
