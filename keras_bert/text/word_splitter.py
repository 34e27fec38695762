"""A word -> its word pieces, with a vocabulary that may change."""

from __future__ import annotations

from collections.abc import Iterable

from keras_bert.text.vocab import SPECIAL_TOKENS

INSIDE = "##"


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

        The latter is split as in the middle of a word: all its parts have ##.
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
                piece, end = SPECIAL_TOKENS.unk, start + 1
            pieces.append(piece)
            start, prefix = end, INSIDE
        return pieces
