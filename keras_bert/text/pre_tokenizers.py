"""The pre-tokenizers of a `tokenizer.json`, without tensorflow-text.

Each pre-tokenizer splits clean texts into the words that a piece model takes.
"""

import functools
import sys
import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.text import unicode_data
from keras_bert.text.text_ops import CUT, byte_starts, parts_of

META = "\u2581"  # SentencePiece's mark for a space
_OTHER, _LETTER, _NUMBER, _WHITE = range(4)


class Words(NamedTuple):
    """The words of texts [B].

    In a graph, fields that nothing reads are not computed.

    Attributes:
        words: Strings [B, (words)].
        starts: The byte offset in the text at which each word begins, int32
            [W].
        num_more: The number of bytes at the beginning of each word that are not
            in the text, int32 [W].
    """

    words: tf.RaggedTensor
    starts: tf.Tensor
    num_more: tf.Tensor

    def places(
        self, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Byte spans in words -> byte spans in texts.

        `rows` is the index of each span's word.
        """
        begin, more = (tf.gather(x, rows) for x in (self.starts, self.num_more))
        # A mark that was put before a text counts as part of the text's first
        # character.
        return (
            begin + tf.maximum(starts - more, 0),
            begin + tf.maximum(ends - more, 1),
        )


class ByteLevel:
    """Splits texts by the regular expression in GPT-2's `encoder.py`.

    A word is a contraction such as 's, or a run of characters of one kind. The
    kinds are letters, numbers, white space and all other characters. A run that
    is not white space includes a space directly before it.
    """

    def __init__(self, add_prefix_space: bool):
        self._adds_space = add_prefix_space
        other, letter, number = (
            unicode_data.pattern_of(_kinds() == x)
            for x in (_OTHER, _LETTER, _NUMBER)
        )
        white = unicode_data.pattern_of(_kinds() == _WHITE)
        self._blanks = f"({white})({white}{white.replace('[', '[^')})"
        self._words = (
            f"'(?:[stmd]|re|ve|ll)| ?{letter}+| ?{number}+| ?{other}+|{white}+"
        )

    def __call__(self, texts: tf.Tensor) -> Words:
        if self._adds_space:
            needs = ~tf.strings.regex_full_match(texts, "(?s) .*|")
            texts = tf.where(needs, tf.strings.join([" ", texts]), texts)
        # The last of several blanks before a word is cut off from the others.
        # If the last blank is a space, it belongs to the word; otherwise, it is
        # a word of its own.
        cut = tf.strings.regex_replace(
            texts, self._blanks, rb"\1" + CUT + rb"\2"
        )
        words = parts_of(
            tf.strings.regex_replace(cut, self._words, rb"\0" + CUT)
        )
        starts = byte_starts(words)
        num_more = tf.zeros_like(starts)
        if self._adds_space:
            more = tf.gather(tf.cast(needs, tf.int32), words.value_rowids())
            num_more = tf.where(starts == 0, more, 0)
            starts = tf.maximum(starts - more, 0)
        return Words(words, starts, num_more)


class Bert:
    """Splits at white space; each punctuation mark is a word."""

    def __init__(self) -> None:
        self._white = unicode_data.pattern_of(_kinds() == _WHITE)
        self._not_space = self._white.replace(r"\x{20}-\x{20}", "")
        self._mark = unicode_data.pattern_of(_is_mark())

    def __call__(self, texts: tf.Tensor) -> Words:
        spaced = tf.strings.regex_replace(texts, self._not_space, " ")
        spaced = tf.strings.regex_replace(spaced, self._mark, r" \0 ")
        alone = f"{self._white}|{self._mark}"
        parts = parts_of(
            tf.strings.regex_replace(texts, alone, CUT + rb"\0" + CUT)
        )
        is_word = ~tf.strings.regex_full_match(parts.values, self._white)
        starts = byte_starts(parts)[is_word]
        return Words(parts_of(spaced, " "), starts, tf.zeros_like(starts))


class Metaspace:
    """Splits into words that begin with a mark instead of a space."""

    def __init__(self, splits_at_white_space: bool):
        """With `splits_at_white_space`, words contain no white space.

        Without it, each space begins a word, and other white space is part of
        the words.
        """
        self._white = unicode_data.pattern_of(_kinds() == _WHITE) + "+"
        self._splits = splits_at_white_space

    def __call__(self, texts: tf.Tensor) -> Words:
        replace, begin = tf.strings.regex_replace, f" ?{META}| "
        if self._splits:
            marked = tf.strings.strip(replace(texts, self._white, " "))
            parts = replace(texts, self._white, CUT + rb"\0" + CUT)
            parts = parts_of(replace(parts, META, CUT + rb"\0"))
            is_word = ~tf.strings.regex_full_match(parts.values, self._white)
        else:
            marked, begin = texts, f"[ {META}]"
            parts = parts_of(replace(texts, begin, CUT + rb"\0"))
            is_word = tf.ones_like(parts.values, tf.bool)
        marked = replace(marked, f"^[^ {META}]", rf"{META}\0")
        words = parts_of(replace(marked, begin, CUT + META.encode()))
        in_text = parts.values[is_word]
        num_more = tf.where(
            tf.strings.substr(in_text, 0, 3) == META,
            0,
            tf.where(tf.strings.substr(in_text, 0, 1) == " ", 2, 3),
        )
        return Words(words, byte_starts(parts)[is_word], num_more)


@functools.cache
def _kinds() -> np.ndarray:
    """Returns the kind of each code point, such as _LETTER."""
    kinds = np.zeros(sys.maxunicode + 1, np.int32)
    for code in unicode_data.assigned():
        category = unicodedata.category(chr(code))
        if category[0] in "LN":
            kinds[code] = _LETTER if category[0] == "L" else _NUMBER
    kinds[unicode_data.codes_in(unicode_data.WHITE_SPACE)] = _WHITE
    kinds[unicode_data.codes_in(unicode_data.LETTERS)] = _LETTER
    kinds[unicode_data.codes_in(unicode_data.NUMBERS)] = _NUMBER
    return kinds


def _is_mark() -> np.ndarray:
    """Returns whether BERT treats each code point as punctuation, bool."""
    is_mark = np.zeros(sys.maxunicode + 1, bool)
    for code in unicode_data.assigned():
        char = chr(code)
        is_ascii = code < 128 and 32 < code and not char.isalnum()
        is_mark[code] = is_ascii or unicodedata.category(char)[0] == "P"
    is_mark[unicode_data.codes_in(unicode_data.NEW_PUNCTUATION)] = False
    is_mark[[127]] = False
    is_mark[[0x166D, 0x111C9]] = True
    return is_mark & (_kinds() != _WHITE)
