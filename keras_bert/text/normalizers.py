"""The normalizers of a `tokenizer.json`, in TensorFlow without tensorflow-text.

Each normalizer changes characters as the package `tokenizers` does, even where
the result is surprising, and records which original character each new
character stands for.
"""

import base64
import functools
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
import tensorflow as tf

from keras_bert.text import unicode_data
from keras_bert.text.text_ops import (
    begins_row,
    change_where,
    find_sorted,
    num_bytes,
)
from keras_bert.text.unicode_data import NUM_CODES

_PAGE = 256
# Characters that form a cluster with the next character. There are others, but
# their clusters have too many bytes to matter.
_PREPENDED = (*range(0x600, 0x606), 0x6DD, 0x70F)
# A cluster with more bytes is changed character by character.
_MOST_BYTES = 5
_JOINS, _BREAKS, _PREPENDS = 1, 2, 3


class Characters(NamedTuple):
    """The characters of texts, text after text, [C].

    Attributes:
        codes: The code points, int32.
        rows: The index of each character's text, int64, in ascending order.
        sources: The index of the original character that each character stands
            for, among the characters of all original texts, int32.
    """

    codes: tf.Tensor
    rows: tf.Tensor
    sources: tf.Tensor

    @classmethod
    def of(cls, texts: tf.Tensor) -> Self:
        """Returns the characters of UTF-8 strings [B]; drops invalid bytes."""
        chars = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        rows = chars.value_rowids()
        return cls(chars.values, rows, tf.range(tf.size(rows)))

    def encode(self, num_texts: tf.Tensor) -> tf.Tensor:
        """Returns the texts, UTF-8 strings [B]."""
        chars = tf.RaggedTensor.from_value_rowids(
            self.codes, self.rows, num_texts, validate=False
        )
        return tf.strings.unicode_encode(chars, "UTF-8")

    def replaced(
        self, codes: tf.Tensor, rows: tf.Tensor, changes: tf.Tensor
    ) -> Self:
        """Returns new characters, with the sources that `changes` determine.

        `changes` says how `tokenizers` aligns each new character: 0 if it
        replaces the next old character, -n if it replaces the next n + 1 old
        characters, and 1 if it is inserted.
        """
        taken = tf.where(changes > 0, 0, 1 - changes)
        index = tf.cumsum(taken, exclusive=True)
        before = tf.math.segment_min(index, rows)  # the first in each row
        first = tf.math.unsorted_segment_min(
            tf.range(tf.size(self.rows)), self.rows, tf.size(before)
        )
        index += tf.gather(first - before, rows)
        index = tf.clip_by_value(
            index - tf.cast(changes > 0, tf.int32), 0, tf.size(self.rows) - 1
        )
        return type(self)(codes, rows, tf.gather(self.sources, index))


class CodePointTable:
    """A compact table that maps each code point to a number."""

    def __init__(self, values: np.ndarray):
        """Takes the numbers of all code points, integers [0x110000]."""
        pages: dict[bytes, int] = {}  # each distinct page once
        self._pages = np.array(
            [
                pages.setdefault(page.tobytes(), len(pages))
                for page in values.reshape(-1, _PAGE)
            ],
            np.int32,
        )
        self._values = np.frombuffer(b"".join(pages), values.dtype)

    def __call__(self, codes: tf.Tensor) -> tf.Tensor:
        # A shift is faster than a division; a page has 2**8 code points.
        page = tf.gather(self._pages, tf.bitwise.right_shift(codes, 8))
        place = page * _PAGE + tf.bitwise.bitwise_and(codes, _PAGE - 1)
        return tf.gather(self._values, place)


class _Expansions:
    """A table that maps a character to its expansion, the new code points."""

    def __init__(
        self,
        expansions: Mapping[int, Sequence[int]],
        more: Sequence[Sequence[int]] = (),
    ):
        """Takes expansions keyed by code point, and `more` without code points.

        All expansions are numbered from 1. `self.number` maps a code point to
        the number of its expansion, or to 0 if it has none.
        """
        numbers = np.zeros(sys.maxunicode + 1, np.int32)
        numbers[[*expansions]] = np.arange(len(expansions)) + 1
        self.number = CodePointTable(numbers)
        rows = [(), *expansions.values(), *more]
        self._lengths = np.array([1, *map(len, rows[1:])], np.int32)
        self._starts = np.cumsum([0, *map(len, rows[:-1])], dtype=np.int32)
        values = [x for row in rows for x in row]
        self._values = np.array(values or [0], np.int32)

    def __call__(
        self, codes: tf.Tensor, numbers: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Replaces code points [C] with the expansions that `numbers` [C] give.

        The number 0 leaves a code point as it is. Returns, all int32 [N]: the
        new code points, the index of the old code point that each new one comes
        from, and the index of each new one in its expansion.
        """
        lengths = tf.gather(self._lengths, numbers)
        places = tf.repeat(tf.range(tf.size(codes)), lengths)
        begins = tf.cumsum(lengths, exclusive=True)
        within = tf.range(tf.size(places)) - tf.gather(begins, places)
        numbers = tf.gather(numbers, places)
        index = tf.gather(self._starts, numbers) + within
        index = tf.minimum(index, len(self._values) - 1)
        new = tf.gather(self._values, index)
        new = tf.where(numbers > 0, new, tf.gather(codes, places))
        return new, places, within


class Normalizer:
    """A step that changes the characters of texts.

    Attributes:
        plain: A regular expression that matches only texts that the step does
            not change.
    """

    plain: str

    def __call__(self, chars: Characters) -> Characters:
        raise NotImplementedError

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        """Applies the step to valid UTF-8 strings [B]."""
        is_plain = tf.strings.regex_full_match(texts, self.plain)
        return change_where(~is_plain, texts, self._change)

    def _change(self, texts: tf.Tensor) -> tf.Tensor:
        return self(Characters.of(texts)).encode(tf.size(texts, tf.int64))


class UnicodeForm(Normalizer):
    """The Unicode normalization form NFC, NFD, NFKC or NFKD (Annex 15).

    It covers the characters that `tokenizers` normalizes or, with `is_newest`,
    all characters that Python knows.
    """

    def __init__(self, form: str, *, is_newest: bool = False):
        self._composes = form.endswith("C")
        decomposed: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
        decompositions, pairs = {}, {}
        classes = np.zeros(sys.maxunicode + 1, np.int32)
        left_out = "" if is_newest else unicode_data.NOT_NORMALIZED
        unknown = {*unicode_data.codes_in(left_out)}
        for code in sorted({*unicode_data.assigned()} - unknown):
            char = chr(code)
            classes[code] = unicodedata.combining(char)
            parts = unicodedata.normalize(decomposed, char)
            if parts == char:
                continue
            decompositions[code] = [*map(ord, parts)]
            parts = unicodedata.normalize("NFD", char)
            if len(parts) > 1 and unicodedata.normalize("NFC", parts) == char:
                first = unicodedata.normalize("NFC", parts[:-1])
                if len(first) == 1:
                    pairs[ord(first) * NUM_CODES + ord(parts[-1])] = code
        is_plain = classes == 0
        is_plain[[*decompositions, *(x % NUM_CODES for x in pairs)]] = False
        if self._composes:
            is_plain[[*pairs.values()]] = True
        self.plain = unicode_data.pattern_of(is_plain) + "*"
        self._class = CodePointTable(classes)
        self._expand = _Expansions(decompositions)
        pairs = dict(sorted(pairs.items()))
        self._pairs = np.array([*pairs], np.int64)
        self._composed = np.array([*pairs.values()], np.int32)

    def __call__(self, chars: Characters) -> Characters:
        numbers = self._expand.number(chars.codes)
        codes, places, within = self._expand(chars.codes, numbers)
        rows = tf.gather(chars.rows, places)
        changes = tf.minimum(within, 1)
        # The combining marks after a character are sorted by their class.
        classes = self._class(codes)
        begins = (classes == 0) | begins_row(rows)
        groups = tf.cumsum(tf.cast(begins, tf.int32))
        order = tf.argsort(groups * _PAGE + classes, stable=True)
        codes, classes, changes = (
            tf.gather(x, order) for x in (codes, classes, changes)
        )
        if self._composes:
            codes, rows, changes = self._compose(codes, classes, rows, changes)
        return chars.replaced(codes, rows, changes)

    def _compose(
        self,
        codes: tf.Tensor,
        classes: tf.Tensor,
        rows: tf.Tensor,
        changes: tf.Tensor,
    ) -> list[tf.Tensor]:
        """Returns `codes`, `rows` and `changes` with marks joined to starters.

        A starter is a character of combining class 0. The marks that follow a
        starter are joined to it one by one.
        """

        def join(_: tf.Tensor, *values: tf.Tensor) -> list[tf.Tensor]:
            codes, classes, rows, changes, is_tried = values
            places = tf.range(tf.size(codes), dtype=tf.int64)
            is_starter = classes == 0
            count = tf.cumsum(tf.cast(is_starter, tf.int32), exclusive=True)
            starters = tf.pad(tf.where(is_starter)[:, 0], [[0, 1]])
            starter = tf.gather(starters, tf.maximum(count - 1, 0))
            before = tf.maximum(places - 1, 0)
            is_next = tf.gather(classes, before) < classes
            is_next |= starter == before
            pairs = tf.cast(tf.gather(codes, starter), tf.int64) * NUM_CODES
            pairs += tf.cast(codes, tf.int64)
            index, is_pair = find_sorted(self._pairs, pairs)
            joins = is_next & ~is_tried & is_pair
            joins &= (count > 0) & (tf.gather(rows, starter) == rows)
            # Each round joins the first of the marks that a starter still has.
            first = tf.math.unsorted_segment_min(
                tf.where(joins, places, places.dtype.max),
                starter,
                tf.size(places),
            )
            first = tf.gather(first, starter)
            joins &= places == first
            is_tried |= (places <= first) & (first < places.dtype.max)
            joined = tf.where(joins)
            target = tf.gather(starter, joined)
            new = tf.gather(self._composed, index[joins])
            codes = tf.tensor_scatter_nd_update(codes, target, new)
            changes = tf.tensor_scatter_nd_add(
                changes, target, changes[joins] - 1
            )
            values = codes, classes, rows, changes, is_tried
            return [tf.size(joined) > 0, *(x[~joins] for x in values)]

        values = [True, codes, classes, rows, changes, classes < 0]
        shapes = [tf.TensorShape([]), *[tf.TensorShape([None])] * 5]
        _, codes, _, rows, changes, _ = tf.while_loop(
            lambda goes_on, *_: goes_on,
            join,
            values,
            shape_invariants=shapes,
            parallel_iterations=1,
        )
        return [codes, rows, changes]


# Creating a `UnicodeForm` takes a second.
unicode_form = functools.cache(UnicodeForm)


class Charsmap(Normalizer):
    """Replaces characters and clusters, as a SentencePiece model's rules say.

    A cluster is a character with its marks. For a cluster of at most 5 bytes,
    the shortest prefix with a rule is found, and as in `tokenizers`, that rule
    replaces the whole cluster. In a longer cluster, each character is changed
    by itself.
    """

    def __init__(self, precompiled: str):
        """Takes the rules as SentencePiece compiles them, in base64."""
        expansions: dict[int, list[int]] = {}
        pairs: dict[int, list[int]] = {-1: []}  # never empty
        rules = _read_rules(base64.b64decode(precompiled))
        for text, new in sorted(rules.items()):
            first, *others = map(ord, text)
            if not others:
                expansions[first] = [*map(ord, new)]
            elif len(others) == 1 and first not in expansions:
                pairs[first * NUM_CODES + others[0]] = [*map(ord, new)]
        self._pairs = np.array([*pairs], np.int64)
        self._expand = _Expansions(expansions, [*pairs.values()])
        self._first_pair = 1 + len(expansions)
        kinds = np.zeros(sys.maxunicode + 1, np.int32)
        for code in unicode_data.assigned():
            category = unicodedata.category(chr(code))
            if category in ("Mn", "Me", "Mc"):
                kinds[code] = _JOINS
            elif category in ("Cc", "Cf", "Zl", "Zp"):
                kinds[code] = _BREAKS
        kinds[unicode_data.codes_in(unicode_data.JOINING)] = _JOINS
        kinds[unicode_data.codes_in(unicode_data.NOT_JOINING)] = 0
        kinds[[*_PREPENDED]] = _PREPENDS
        self._kind = CodePointTable(kinds)
        is_plain = (kinds == 0) | (kinds == _BREAKS)
        is_plain[[*expansions, 13]] = False
        self.plain = unicode_data.pattern_of(is_plain) + "*"

    def __call__(self, chars: Characters) -> Characters:
        codes, rows, _ = chars
        numbers = self._expand.number(codes)
        kinds = self._kind(codes)
        joins = (kinds[1:] == _JOINS) & (kinds[:-1] != _BREAKS)
        joins |= (kinds[:-1] == _PREPENDS) & (kinds[1:] != _BREAKS)
        joins |= (codes[:-1] == 13) & (codes[1:] == 10)
        begins = ~(joins & (rows[1:] == rows[:-1]))
        begins = tf.concat([tf.ones_like(codes[:1], tf.bool), begins], axis=0)
        cluster = tf.cumsum(tf.cast(begins, tf.int32)) - 1
        size = tf.math.segment_sum(num_bytes(codes), cluster)
        is_short = tf.gather(size, cluster) <= _MOST_BYTES
        # The rule for the beginning of a cluster with several characters.
        pairs = tf.cast(codes, tf.int64) * NUM_CODES
        pairs += tf.cast(tf.roll(codes, -1, 0), tf.int64)
        ends = tf.pad(begins, [[0, 1]], constant_values=True)[1:]
        is_first = is_short & begins & ~ends
        place, is_pair = find_sorted(self._pairs, pairs)
        is_pair &= is_first
        numbers = tf.where(is_pair, self._first_pair + place, numbers)
        rule = tf.math.segment_max(tf.where(is_first, numbers, 0), cluster)
        is_whole = tf.gather(rule, cluster) > 0
        stays = begins | ~is_whole
        taken = tf.math.segment_sum(tf.ones_like(codes), cluster)
        taken = tf.where(is_whole, tf.gather(taken, cluster), 1)[stays]
        numbers, unit_rows = numbers[stays], rows[stays]
        codes, places, within = self._expand(codes[stays], numbers)
        rows = tf.gather(unit_rows, places)
        changes = tf.cast(within >= tf.gather(taken, places), tf.int32)
        # A removed character counts as part of the character before it.
        counts = tf.math.unsorted_segment_sum(
            tf.ones_like(places), places, tf.size(taken)
        )
        last = tf.cumsum(counts) - 1
        lost = tf.minimum(counts - taken, 0)
        has_last = (lost < 0) & (last >= 0)
        last = tf.maximum(last, 0)
        row = tf.gather(tf.pad(rows, [[0, 1]], constant_values=-1), last)
        has_last &= row == unit_rows
        changes = tf.tensor_scatter_nd_add(
            changes, last[has_last][:, None], lost[has_last]
        )
        return chars.replaced(codes, rows, changes)


def _read_rules(compiled: bytes) -> dict[str, str]:
    """Returns the rules for texts of at most 5 bytes in a double-array trie."""
    size = int.from_bytes(compiled[:4], "little")
    units = np.frombuffer(compiled[4 : 4 + size], "<u4").tolist()
    texts = compiled[4 + size :]
    rules = {}

    def offset(unit: int) -> int:
        return (unit >> 10) << ((unit & 1 << 9) >> 6)

    def read(node: int, path: bytes) -> None:
        for byte in range(1, 256) if len(path) < _MOST_BYTES else ():
            child = node ^ byte
            if child >= len(units) or units[child] & 0x800000FF != byte:
                continue
            unit = units[child]
            if unit >> 8 & 1:
                start = units[child ^ offset(unit)] & 0x7FFFFFFF
                text = texts[start : texts.index(0, start)]
                rules[(path + bytes([byte])).decode()] = text.decode()
            read(child ^ offset(unit), path + bytes([byte]))

    read(offset(units[0]), b"")
    return rules


class CharacterMap(Normalizer):
    """Replaces a character with others, or with none to remove it."""

    def __init__(self, expansions: Mapping[int, Sequence[int]]):
        self._expand = _Expansions(expansions)
        is_plain = np.ones(sys.maxunicode + 1, bool)
        is_plain[[*expansions]] = False
        self.plain = unicode_data.pattern_of(is_plain) + "*"

    def __call__(self, chars: Characters) -> Characters:
        numbers = self._expand.number(chars.codes)
        codes, places, _ = self._expand(chars.codes, numbers)
        return Characters(codes, *(tf.gather(x, places) for x in chars[1:]))


class _LowerCase(CharacterMap):
    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        # This operation is fast, and changes only ASCII.
        return super().clean(tf.strings.lower(texts))


@functools.cache
def bert_normalizers(
    *, lowers: bool, strips_accents: bool, splits_cjk: bool
) -> tuple[Normalizer, ...]:
    """Returns the normalizers of the package `tokenizers` for BERT.

    For some rare characters, their results differ from the results of
    google-research/bert.
    """
    removed = {*unicode_data.codes_in(unicode_data.NEW_FORMATS)}
    cleaned: dict[int, tuple[int, ...]] = {}
    marks: dict[int, tuple[int, ...]] = {0x1734: ()}
    lower: dict[int, tuple[int, ...]] = {}
    known = {*unicode_data.codes_in(unicode_data.NEW_MARKS)}
    for code in unicode_data.assigned():
        char = chr(code)
        category = unicodedata.category(char)
        if char in "\t\n\r" or (category[0] == "Z" and char != " "):
            cleaned[code] = (32,)
        elif category in ("Cc", "Cf", "Co") and code not in removed:
            cleaned[code] = ()
        elif category == "Mn" and code not in known:
            marks[code] = ()
        if char.lower() != char:
            lower[code] = tuple(map(ord, char.lower()))
    cleaned |= dict.fromkeys((0, 0xFFFD, *range(0xF0000, 0xFFFFE)), ())
    cleaned |= dict.fromkeys(range(0x100000, 0x10FFFE), ())
    if splits_cjk:
        cjk = unicode_data.codes_in(unicode_data.IDEOGRAPHS)
        cleaned |= {code: (32, code, 32) for code in cjk}
    steps: list[Normalizer] = [CharacterMap(cleaned)]
    if strips_accents:
        steps += [unicode_form("NFD"), CharacterMap(marks)]
    return (*steps, _LowerCase(lower)) if lowers else tuple(steps)


class StripRight(Normalizer):
    """Removes white space at the end of a text."""

    def __init__(self) -> None:
        is_white = np.zeros(sys.maxunicode + 1, bool)
        is_white[unicode_data.codes_in(unicode_data.WHITE_SPACE)] = True
        self._end = unicode_data.pattern_of(is_white) + "+$"
        self._is_white = CodePointTable(is_white)

    def __call__(self, chars: Characters) -> Characters:
        places = tf.range(tf.size(chars.codes))
        is_kept = ~self._is_white(chars.codes)
        last = tf.math.segment_max(tf.where(is_kept, places, -1), chars.rows)
        stays = places <= tf.gather(last, chars.rows)
        return Characters(*(x[stays] for x in chars))

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        return tf.strings.regex_replace(texts, self._end, "")


class Spaces(Normalizer):
    """Replaces a run of several spaces with one character."""

    def __init__(self, content: str):
        self._content = content

    def __call__(self, chars: Characters) -> Characters:
        codes, rows, sources = chars
        goes_on = (codes[:-1] == 32) & (codes[1:] == 32)
        goes_on &= rows[:-1] == rows[1:]
        follows = tf.pad(goes_on, [[1, 0]])[: tf.size(codes)]
        stays = ~tf.pad(goes_on, [[0, 1]])[: tf.size(codes)]
        codes = tf.where(follows, ord(self._content), codes)
        return Characters(codes[stays], rows[stays], sources[stays])

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        return tf.strings.regex_replace(texts, " {2,}", self._content)
