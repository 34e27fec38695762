"""The pre-tokenizers of a `tokenizer.json`, in operations of plain TensorFlow.

Each splits clean texts into the words that a model of pieces gets.
"""

import functools
import sys
import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.text import unicode_data
from keras_bert.text.normalizers import Characters, CodePointTable

META = "\u2581"  # SentencePiece's mark for a space
_OTHER, _LETTER, _NUMBER, _WHITE, _SPACE = range(5)


class Words(NamedTuple):
    """The words of texts [B].

    Attributes:
        words: Strings [B, (words)].
        starts: The byte of its text at which each begins, int32 [W].
        num_more: How many bytes longer than in the text the beginning of each
            is, int32 [W].
    """

    words: tf.RaggedTensor
    starts: tf.Tensor
    num_more: tf.Tensor

    @classmethod
    def of(
        cls,
        texts: tf.Tensor,
        chars: Characters,
        begins: tf.Tensor,
        stays: tf.Tensor | None = None,
    ) -> "Words":
        """Cuts the characters of texts where a word begins.

        Characters that do not stay are in no word.
        """
        firsts = tf.where(begins)[:, 0]
        rows = tf.gather(chars.rows, firsts)
        starts = tf.cumsum(chars.num_bytes(), exclusive=True)
        of_texts = tf.cumsum(tf.strings.length(texts), exclusive=True)
        starts = tf.gather(starts, firsts) - tf.gather(of_texts, rows)
        codes = chars.codes
        if stays is not None:
            codes, firsts = codes[stays], tf.where(begins[stays])[:, 0]
        words = tf.RaggedTensor.from_row_starts(codes, firsts, validate=False)
        words = tf.RaggedTensor.from_value_rowids(
            tf.strings.unicode_encode(words, "UTF-8"),
            rows,
            tf.size(texts, tf.int64),
            validate=False,
        )
        return cls(words, starts, tf.zeros_like(starts))

    def places(
        self, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Bytes of words -> bytes of texts; `rows` are the words' numbers."""
        begin, more = (tf.gather(x, rows) for x in (self.starts, self.num_more))
        # A mark that was put before a text counts to its first character.
        return (
            begin + tf.maximum(starts - more, 0),
            begin + tf.maximum(ends - more, 1),
        )


class ByteLevel:
    """Splits as GPT-2 does, by the expression in its `encoder.py`.

    A word is a run of letters, of numbers or of other characters, each with one
    space before it; the rest of the white space; or a contraction such as 's.
    """

    def __init__(self, *, add_prefix_space: bool = False):
        self._adds_space = add_prefix_space
        self._kind = _kinds()

    def __call__(self, texts: tf.Tensor) -> Words:
        if self._adds_space:
            needs = ~tf.strings.regex_full_match(texts, "(?s) .*|")
            texts = tf.where(needs, tf.strings.join([" ", texts]), texts)
        chars = Characters.of(texts)
        kind = self._kind(chars.codes)
        is_white = kind >= _WHITE
        is_first = chars.shifted(chars.rows, 1, -1) != chars.rows
        is_last = chars.shifted(chars.rows, -1, -1) != chars.rows
        before = tf.where(is_first, -1, chars.shifted(kind, 1, -1))
        after = tf.where(is_last, -1, chars.shifted(kind, -1, -1))
        # The last of several blanks before a word is a word, or belongs to it.
        begins = tf.where(
            is_white,
            (before < _WHITE) | ((after >= 0) & (after < _WHITE)),
            (kind != before) & (before != _SPACE),
        )
        inside, behind = self._contractions(chars, before)
        begins = (begins & ~inside) | behind
        words = Words.of(texts, chars, begins)
        if self._adds_space:
            row = words.words.value_rowids()
            more = tf.gather(tf.cast(needs, tf.int32), row)
            is_first = words.starts == 0
            words = words._replace(
                starts=tf.where(is_first, 0, words.starts - more),
                num_more=tf.where(is_first, more, 0),
            )
        return words

    def _contractions(
        self, chars: Characters, before: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the first letters of contractions, and what is behind."""
        codes, rows = chars.codes, chars.rows
        starts = (codes == ord("'")) & (before != _OTHER) & (before != _SPACE)
        inside = behind = tf.zeros_like(starts)
        for ending in ("s", "t", "re", "ve", "m", "ll", "d"):
            size = len(ending)
            matches = starts & (chars.shifted(rows, -size, -1) == rows)
            for i, char in enumerate(ending):
                matches &= chars.shifted(codes, -1 - i, -1) == ord(char)
            inside |= chars.shifted(matches, 1, False)
            has_next = chars.shifted(rows, -1 - size, -1) == rows
            behind |= chars.shifted(matches & has_next, 1 + size, False)
        return inside, behind


class Bert:
    """Splits at white space; each punctuation mark is a word."""

    def __init__(self) -> None:
        self._kind = _bert_kinds()

    def __call__(self, texts: tf.Tensor) -> Words:
        chars = Characters.of(texts)
        kind = self._kind(chars.codes)
        is_first = chars.shifted(chars.rows, 1, -1) != chars.rows
        before = chars.shifted(kind, 1, _WHITE)
        begins = is_first | (kind == _OTHER) | (before != _LETTER)
        stays = kind < _WHITE
        return Words.of(texts, chars, begins & stays, stays)


class Metaspace:
    """Words that begin with a mark in the place of the space before them.

    Args:
        splits_at_white_space: Whether any white space ends a word, and is left
            out; otherwise each space begins a word.
    """

    def __init__(self, *, splits_at_white_space: bool = False):
        self._kind = _kinds() if splits_at_white_space else None

    def __call__(self, texts: tf.Tensor) -> Words:
        chars = Characters.of(texts)
        is_first = chars.shifted(chars.rows, 1, -1) != chars.rows
        has_mark = chars.codes == ord(META)
        if self._kind is None:
            is_space = chars.codes == 32
            begins = has_mark | is_first | is_space
            words = Words.of(texts, chars, begins)
            flat = tf.strings.regex_replace(words.words.values, "^ ", META)
            num_more = 2 * tf.cast(is_space[begins], tf.int32)
        else:
            stays = self._kind(chars.codes) < _WHITE
            begins = is_first | ~chars.shifted(stays, 1, False) | has_mark
            begins &= stays
            words = Words.of(texts, chars, begins, stays)
            flat, num_more = words.words.values, words.num_more
        has_mark = tf.strings.regex_full_match(flat, f"(?s){META}.*")
        marked = tf.strings.join([META, flat])
        return Words(
            words.words.with_values(tf.where(has_mark, flat, marked)),
            words.starts,
            tf.where(has_mark, num_more, len(META.encode())),
        )


@functools.cache
def _kinds() -> CodePointTable:
    """Returns the kind of each code point."""
    kinds = np.zeros(sys.maxunicode + 1, np.int32)
    for code in unicode_data.assigned():
        category = unicodedata.category(chr(code))
        if category[0] in "LN":
            kinds[code] = _LETTER if category[0] == "L" else _NUMBER
        elif category[0] == "Z" or code in (*range(9, 14), 0x85):
            kinds[code] = _WHITE
    kinds[unicode_data.codes_in(unicode_data.LETTERS)] = _LETTER
    kinds[unicode_data.codes_in(unicode_data.NUMBERS)] = _NUMBER
    kinds[32] = _SPACE
    return CodePointTable(kinds)


@functools.cache
def _bert_kinds() -> CodePointTable:
    """Returns the kind of each code point, of which a mark is another one."""
    kinds = _kinds().values
    is_mark = np.zeros_like(kinds, dtype=bool)
    for code in unicode_data.assigned():
        char = chr(code)
        is_ascii = code < 128 and 32 < code and not char.isalnum()
        is_mark[code] = is_ascii or unicodedata.category(char)[0] == "P"
    new = unicode_data.codes_in(unicode_data.NEW_PUNCTUATION)
    is_mark[new] = False
    is_mark[[127]] = False
    is_mark[[0x166D, 0x111C9]] = True
    values = np.where(
        kinds >= _WHITE, _WHITE, np.where(is_mark, _OTHER, _LETTER)
    )
    return CodePointTable(values.astype(np.int32))
