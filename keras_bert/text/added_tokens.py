"""Texts -> the added tokens in them, and the text between these tokens."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from keras_bert.text import text_ops
from keras_bert.text.tokenizer_settings import AddedToken
from keras_bert.text.words import CJK

# What \w and \s match in Rust's regular expressions. In RE2, they match only
# ASCII.
_WORD = (
    r"[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}"
    r"\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]"
)
_SPACE = r"[\s\p{Z}\x{0B}\x{85}]"


class AddedTokens:
    """Finds added tokens in texts before the texts are split.

    The results are the same as in the package `tokenizers`. The leftmost token
    is found first; if several tokens begin at the same offset, the longest is
    found.

    Args:
        tokens: The tokens; of two with the same spelling, the first is found.
        clean: The function that cleans texts; None to leave them as they are.
        splits_cjk: Whether each ideograph is a word.
        trims: Whether the span of a token leaves out the spaces around it.
        of_bert: Whether the tokenizer is BERT's. With `clean`, a space in a
            token then stands for any white space; without `clean`, texts may
            contain invalid bytes.
    """

    def __init__(
        self,
        tokens: Sequence[AddedToken],
        clean: Callable[[tf.Tensor], tf.Tensor] | None = None,
        *,
        splits_cjk: bool = False,
        trims: bool = False,
        of_bert: bool = True,
    ):
        contents = [token.content for token in tokens]
        if clean and tokens:
            with tf.init_scope():
                names = clean(tf.constant(contents)).numpy()
            contents = [x.decode() for x in names]
        if clean and of_bert:
            contents = [re.sub(r"\s", " ", x) for x in contents]
        self._tokens, self._contents = tuple(tokens), tuple(contents)
        # `tokenizers` puts spaces around an ideograph.
        self._splits_cjk, self._trims = splits_cjk, trims
        self._has_any_space = of_bert and clean is not None
        self._has_invalid_bytes = of_bert and clean is None
        space = _SPACE if self._has_any_space else " "
        self._pattern = "|".join(
            re.escape(x).replace(r"\ ", space)
            for x in sorted({*contents} - {""}, key=len, reverse=True)
        )

    def tokenize(
        self,
        texts: tf.Tensor,
        tokenize: Callable[[tf.Tensor], Sequence[tf.RaggedTensor]],
        unit: str = "",
    ) -> Sequence[tf.RaggedTensor]:
        """Texts [B] -> the ids and spans of their tokens, [B, (tokens)].

        The argument `tokenize` is a function that returns the ids and spans for
        texts without added tokens. The spans are starts and ends, counted in
        `unit`, such as "BYTE". Without a unit, only the ids are returned.
        """
        if not self._pattern:
            return tokenize(texts)
        parts, numbers = self._find(texts)
        is_token = numbers >= 0
        row_lengths = tf.cast(is_token, tf.int64)
        between = tokenize(tf.where(is_token, "", parts.values))
        ids = [token.id for token in self._tokens]
        placed, shifts = [tf.gather(ids, numbers[is_token])], [None]
        if unit:
            starts, ends, shift = self._places(parts, unit)
            placed += [starts[is_token], ends[is_token]]
            shifts += [shift, shift]
        columns = []
        for values, others, shift in zip(placed, between, shifts, strict=True):
            values = tf.RaggedTensor.from_row_lengths(
                tf.cast(values, others.dtype), row_lengths, validate=False
            )
            column = tf.concat([values, others], axis=1)  # [P, (tokens)]
            if shift is not None:
                shift = tf.gather(shift, column.value_rowids())
                shift = tf.cast(shift, column.dtype)
                column = column.with_values(column.values + shift)
            columns.append(parts.with_values(column).merge_dims(1, 2))
        return columns

    def _find(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Texts [B] -> their parts [B, (parts)], and each part's token, [P].

        The token is an index into the added tokens, or -1 for a part that lies
        between tokens.
        """
        if self._has_invalid_bytes:
            # `split` uses an invalid byte as a mark. Where texts contain that
            # byte, another invalid byte replaces it; cleaning removes both.
            parts = tf.strings.split(texts, text_ops.CUT)
            parts = parts.with_values(tf.strings.join([parts.values, b"\xfe"]))
            joined = tf.strings.reduce_join(parts, axis=-1)
            sizes = tf.strings.length(texts)
            texts = tf.strings.substr(joined, tf.zeros_like(sizes), sizes)
        parts, _ = text_ops.split(texts, self._pattern, self._pattern, None)
        flat = parts.values
        is_token = tf.strings.regex_full_match(flat, self._pattern)
        spelled, index = tf.unique(flat[is_token])
        if self._has_any_space:
            spelled = tf.strings.regex_replace(spelled, _SPACE, " ")
        is_it = tf.cast(spelled[:, None] == self._contents, tf.int32)
        numbers = tf.tensor_scatter_nd_update(
            tf.zeros_like(flat, tf.int64) - 1,
            tf.where(is_token),
            tf.gather(tf.argmax(is_it, axis=1), index),
        )
        if any(token.single_word for token in self._tokens):
            parts, numbers = self._drop_in_words(parts, numbers)
        if any(token.lstrip or token.rstrip for token in self._tokens):
            parts = self._take_spaces(parts, numbers)
        return parts, numbers

    def _drop_in_words(
        self, parts: tf.RaggedTensor, numbers: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Returns parts and tokens as `_find` does, without tokens in words.

        A `single_word` token inside a word is joined to the parts around it.
        """
        flat, rows = parts.values, parts.value_rowids()
        is_token = numbers >= 0
        before, after = _beside(rows, flat, "")
        in_word = self._is_word(before, "(?s).*%s")
        in_word |= self._is_word(after, "(?s)%s.*")
        needs_end = [token.single_word for token in self._tokens]
        is_lost = is_token & in_word & self._flags(needs_end, numbers)
        numbers = tf.where(is_lost, tf.constant(-1, tf.int64), numbers)
        is_token = numbers >= 0
        begins = is_token[1:] | is_token[:-1] | (rows[1:] != rows[:-1])
        begins = tf.concat([tf.ones_like(is_token[:1]), begins], axis=0)
        number = tf.cumsum(tf.cast(begins, tf.int32))
        flat = tf.strings.unsorted_segment_join(
            flat, number - 1, tf.reduce_max(tf.pad(number, [[1, 0]]))
        )
        parts = tf.RaggedTensor.from_value_rowids(
            flat, rows[begins], parts.nrows(), validate=False
        )
        return parts, numbers[begins]

    def _take_spaces(
        self, parts: tf.RaggedTensor, numbers: tf.Tensor
    ) -> tf.RaggedTensor:
        """Returns the parts, with white space moved to tokens that take it."""
        rows, tokens = parts.value_rowids(), self._tokens
        takes_before = self._flags([x.lstrip for x in tokens], numbers)
        takes_after = self._flags([x.rstrip for x in tokens], numbers)
        rest = tf.where(numbers < 0, parts.values, "")
        # White space that two tokens could take goes to the first of them.
        taken: list[tf.Tensor] = []
        for takes, pattern in (
            (_beside(rows, takes_after, False)[0], f"^{_SPACE}+"),
            (_beside(rows, takes_before, False)[1], f"{_SPACE}+$"),
        ):
            stripped = tf.strings.regex_replace(rest, pattern, "")
            stripped = tf.where(takes, stripped, rest)
            size = tf.strings.length(rest) - tf.strings.length(stripped)
            start = (
                tf.strings.length(stripped) if taken else tf.zeros_like(size)
            )
            taken.append(tf.strings.substr(rest, start, size))
            rest = stripped
        after = _beside(rows, taken[0], "")[1]
        before = _beside(rows, taken[1], "")[0]
        whole = tf.strings.join([before, parts.values, after])
        return parts.with_values(tf.where(numbers < 0, rest, whole))

    def _is_word(self, parts: tf.Tensor, pattern: str) -> tf.Tensor:
        is_word = tf.strings.regex_full_match(parts, pattern % _WORD)
        if self._splits_cjk:
            is_word &= ~tf.strings.regex_full_match(parts, pattern % CJK)
        return is_word

    def _flags(self, flags: list[bool], numbers: tf.Tensor) -> tf.Tensor:
        """Returns the flag of each token in `numbers`; False for -1."""
        return tf.gather([*flags, False], numbers % (len(flags) + 1))

    def _places(
        self, parts: tf.RaggedTensor, unit: str
    ) -> tuple[tf.Tensor, ...]:
        """Returns the token's start and end in each part, and the part's start.

        The part's start is counted from the beginning of the text.
        """
        texts = parts.values
        if unit != "BYTE":  # invalid bytes are not characters
            texts = text_ops.drop_invalid(texts)

        def lengths_without(pattern: str) -> tf.Tensor:
            rest = tf.strings.regex_replace(texts, pattern, "")
            return tf.cast(tf.strings.length(rest, unit), tf.int64)

        lengths = tf.cast(tf.strings.length(texts, unit), tf.int64)
        starts, ends = tf.zeros_like(lengths), lengths
        if self._trims:
            starts = lengths - lengths_without(f"^{_SPACE}+")
            ends = lengths_without(f"{_SPACE}+$")
        sums = tf.cumsum(lengths, exclusive=True)
        firsts = tf.gather(parts.row_starts(), parts.value_rowids())
        return starts, ends, sums - tf.gather(sums, firsts)


def _beside(
    rows: tf.Tensor, values: tf.Tensor, none: Any
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the values before and after each value in its row.

    At the ends of a row, `none` stands for the missing value.
    """
    is_one_row = rows[1:] == rows[:-1]
    end = tf.fill(tf.shape(values[:1]), none)
    before = tf.concat([end, tf.where(is_one_row, values[:-1], none)], axis=0)
    after = tf.concat([tf.where(is_one_row, values[1:], none), end], axis=0)
    return before, after
