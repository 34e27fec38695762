"""Words of a text -> their pieces, and the pieces that a vocabulary lacks."""

from __future__ import annotations

import collections
import heapq
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping

from absl import logging

from keras_bert.text.tokenizer_settings import MAX_CHARS_PER_WORD
from keras_bert.text.vocab import SPECIAL_TOKENS

INSIDE = "##"
# Bounds time and memory; rarer words decide on no piece.
_MAX_WORDS = 500_000
# Fewer occurrences would hardly train a new piece.
_MIN_COUNT = 5
_MAX_CHARS_PER_PIECE = 50
_UNK = SPECIAL_TOKENS.unk


def choose_new_pieces(
    word_counts: Mapping[str, int], vocab: Iterable[str], num_pieces: int
) -> list[str]:
    """Chooses at most `num_pieces` pieces that make a text shorter.

    First come characters that make words readable that were [UNK], at most a
    quarter of all. Then comes again and again the piece that saves the most
    tokens of the text, beside those that were chosen before. It joins
    neighbouring pieces of a word, so the rest of the word is split as before.
    """
    counts = {
        word: n
        for word, n in sorted(word_counts.items(), key=lambda x: (-x[1], x[0]))[
            :_MAX_WORDS
        ]
        if len(word) <= MAX_CHARS_PER_WORD
    }
    splitter = WordSplitter(vocab)
    characters = _missing_characters(counts, splitter)[: num_pieces // 4]
    for character in characters:
        splitter.add(character)
    readable = {
        word: len(pieces)
        for word in counts
        if _UNK not in (pieces := splitter(word))
    }
    joined = _join(counts, readable, splitter, num_pieces - len(characters))
    harmful = _harmful(readable, joined, splitter)
    return characters + [piece for piece in joined if piece not in harmful]


class WordSplitter:
    """Splits words as `BertTokenizer` does, the longest piece first.

    It differs in one case: a character that no piece covers becomes [UNK],
    and the rest of the word is still split. For the tokenizer, the whole word
    is [UNK].
    """

    def __init__(self, vocab: Iterable[str]):
        self.pieces = set(vocab)
        self._longest = max(map(len, self.pieces))

    def add(self, piece: str) -> None:
        self.pieces.add(piece)
        self._longest = max(self._longest, len(piece))

    def remove(self, piece: str) -> None:
        self.pieces.remove(piece)

    def __call__(self, word: str) -> list[str]:
        """Returns the pieces of a word, or of a piece that begins with ##.

        A piece with ## is split as in the middle of a word: all its parts
        have ##.
        """
        text = word.removeprefix(INSIDE)
        prefix = "" if len(text) == len(word) else INSIDE
        pieces, start = [], 0
        while start < len(text):
            longest = min(len(text), start + self._longest)
            for end in range(longest, start, -1):
                piece = prefix + text[start:end]
                if piece in self.pieces:
                    break
            else:
                piece, end = _UNK, start + 1
            pieces.append(piece)
            start, prefix = end, INSIDE
        return pieces


def _missing_characters(counts, splitter):
    """Characters without a piece, those of the most unknown words first."""
    missing = collections.Counter()
    for word, n in counts.items():
        if _UNK in splitter(word):
            forms = {word[0], *(INSIDE + character for character in word[1:])}
            missing.update(dict.fromkeys(forms - splitter.pieces, n))
    ranked = sorted(missing.items(), key=lambda x: (-x[1], x[0]))
    return [form for form, n in ranked if n >= _MIN_COUNT]


def _join(counts, num_tokens, splitter, num_pieces):
    """Adds to the splitter and returns the pieces that save the most tokens.

    `num_tokens` has the words that may change, and is kept up to date.
    """
    pairs = collections.Counter()
    for word in num_tokens:
        for pair in itertools.pairwise(splitter(word)):
            pairs[pair] += counts[word]
    pairs = {pair for pair, n in pairs.items() if n >= _MIN_COUNT}
    saved = collections.Counter()
    for word in num_tokens:
        for piece, num_joined in _joined(splitter(word), pairs):
            saved[piece] += counts[word] * (num_joined - 1)
    saved = {piece: n for piece, n in saved.items() if n >= _MIN_COUNT}
    logging.info(
        "Choosing at most %d of %d pieces for %d words",
        num_pieces,
        len(saved),
        len(num_tokens),
    )
    words_with = collections.defaultdict(dict)  # a dict is an ordered set
    for word in num_tokens:
        for piece, _ in _joined(splitter(word), pairs):
            if piece in saved:
                words_with[piece][word] = None
    # What a piece saves falls while others are chosen, so the numbers in the
    # heap are upper bounds. Only the first one has to be counted anew.
    heap = [(-n, piece) for piece, n in saved.items()]
    heapq.heapify(heap)
    chosen = []
    while heap and len(chosen) < num_pieces:
        _, piece = heapq.heappop(heap)
        splitter.add(piece)
        after = {word: len(splitter(word)) for word in words_with[piece]}
        num_saved = sum(
            counts[word] * (num_tokens[word] - n) for word, n in after.items()
        )
        if num_saved >= _MIN_COUNT and (
            not heap or (-num_saved, piece) <= heap[0]
        ):
            chosen.append(piece)
            num_tokens.update(after)
            continue
        splitter.remove(piece)
        if num_saved >= _MIN_COUNT:
            heapq.heappush(heap, (-num_saved, piece))
    return chosen


def _joined(
    pieces: list[str], pairs: Container[tuple[str, str]]
) -> Iterator[tuple[str, int]]:
    """Yields each piece that joins neighbours, and how many it joins.

    Only the neighbours in `pairs` are joined.
    """
    for first in range(len(pieces)):
        joined = pieces[first]
        for last in range(first + 1, len(pieces)):
            joined += pieces[last].removeprefix(INSIDE)
            is_long = len(joined) > _MAX_CHARS_PER_PIECE
            if is_long or (pieces[last - 1], pieces[last]) not in pairs:
                break
            yield joined, last - first + 1


def _harmful(words, new, splitter):
    """Removes and returns new pieces after which a word cannot be split.

    The longest piece comes first, so a new one can leave a rest that no piece
    covers.
    """
    new, harmful = set(new), set()
    while found := {
        next(piece for piece in pieces if piece in new)
        for word in words
        if _UNK in (pieces := splitter(word))
    }:
        for piece in found:
            splitter.remove(piece)
        new -= found
        harmful |= found
    return harmful
