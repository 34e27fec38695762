"""Words -> tokens -> windows; each word has its label in one window."""

import dataclasses
import unicodedata
from typing import NamedTuple, Self

import numpy as np
import tensorflow as tf

from keras_bert.kinds.token_classification.entities import Entities
from keras_bert.text.text_splitter import bytes_of
from keras_bert.text.tokenizer import BertTokenizer, TokensWithOffsets
from keras_bert.text.windows import lay_out_windows


class WordStarts:
    """Finds the tokens that begin a word, by the setting `entity_grouping`.

    With "simple", each token begins a word. With "first" and a BERT tokenizer,
    a word begins at each piece without ##; with "first" and another tokenizer,
    at each piece that has the mark for a space. With "words", a word also
    begins at and after each punctuation mark. With a BERT tokenizer, this
    equals "first", because no piece joins a mark to other characters.

    Two words of a text count as one if a character of `inner_punctuation`,
    without spaces around it, is between them. With "simple", no words are
    joined.

    Reading a vocabulary takes up to a second: make one object for all texts.
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        grouping: str,
        inner_punctuation: str = "",
    ):
        self.tokenizer = tokenizer
        inside = np.array(tokenizer.continues_word)
        self._begins = ~inside | (grouping == "simple")
        inner = {*inner_punctuation} if grouping != "simple" else set()
        self._joins = np.array([piece in inner for piece in tokenizer.vocab])
        self._opens = self._closes = None
        json = tokenizer.json
        if grouping == "words" and json and not json.is_of_bert:
            pieces = bytes_of(json, tokenizer)
            texts = [piece.decode("utf-8", "ignore") for piece in pieces]
            self._opens = np.array([_is_mark(x[:1]) for x in texts])
            self._closes = np.array([_is_mark(x[-1:]) for x in texts])

    def __call__(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns whether each token begins a word, bool [B, (tokens)]."""
        begins = tf.gather(self._begins, ids.values)
        begins |= tf.ragged.range(ids.row_lengths()).values == 0
        if self._opens is not None:
            closes = tf.gather(self._closes, ids.values)
            begins |= tf.gather(self._opens, ids.values)
            begins |= tf.concat([[False], closes], axis=0)[:-1]
        return ids.with_values(begins)

    def in_texts(self, tokens: TokensWithOffsets) -> tf.RaggedTensor:
        """Like `__call__`, for texts, where inner punctuation joins words."""
        begins = self(tokens.ids)
        if not self._joins.any():
            return begins
        ids, rows = tokens.ids.values, tokens.ids.value_rowids()
        starts, ends = tokens.start_chars.values, tokens.end_chars.values
        touch = (starts[1:] == ends[:-1]) & (rows[1:] == rows[:-1])
        # There may be no token at all.
        before = tf.concat([[False], touch], axis=0)[: tf.size(ids)]
        after = tf.concat([touch, [False]], axis=0)[: tf.size(ids)]
        is_inner = tf.gather(self._joins, ids) & before & after
        joined = tf.concat([[False], is_inner], axis=0)[: tf.size(ids)]
        return begins.with_values(begins.values & ~is_inner & ~joined)


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of texts.

    Attributes:
        ids: The token ids, int32 [B, (tokens)].
        begins_word: Whether a token begins a word, bool [B, (tokens)].
        words: The words themselves (`of_words`), or the index of each word's
            first token (`of_texts`), [B, (words)].
        offsets: The span of each token in its text; None after `of_words`.
    """

    ids: tf.RaggedTensor
    begins_word: tf.RaggedTensor
    words: tf.RaggedTensor
    offsets: TokensWithOffsets | None = None

    @classmethod
    def of_words(cls, words: tf.RaggedTensor, tokenizer: BertTokenizer) -> Self:
        """Returns the tokens of words [B, (words)].

        They are the tokens of a text with a space between the words. A word for
        which the tokenizer has no token, such as a control character, becomes
        [UNK].
        """
        numbers = tf.ragged.range(words.row_lengths()).values
        spaces = tf.where(numbers > 0, " ", "")
        pieces = tokenizer(tf.strings.join([spaces, words.values]))
        is_empty = tf.cast(pieces.row_lengths() == 0, tf.int64)
        unknown = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(is_empty)], tokenizer.unk_id), is_empty
        )
        pieces = tf.concat([pieces, unknown], axis=1)
        begins_word = tf.ragged.range(pieces.row_lengths()) == 0
        ids, begins_word = (
            words.with_values(t).merge_dims(1, 2) for t in (pieces, begins_word)
        )
        return cls(ids, begins_word, words)

    @classmethod
    def of_texts(cls, texts: tf.Tensor, word_starts: WordStarts) -> Self:
        """Returns the tokens of strings [B], and where their words begin."""
        tokenizer = word_starts.tokenizer
        tokens = tokenizer.tokenize_with_offsets(texts)
        if not tokenizer.has_word_pieces:
            tokens = _without_spaces(tokens, texts)
        begins_word = word_starts.in_texts(tokens)
        numbers = tokens.ids.with_values(tf.range(tf.size(begins_word.values)))
        first_tokens = tf.ragged.boolean_mask(numbers, begins_word)
        return cls(tokens.ids, begins_word, first_tokens, tokens)

    def of_text(self, word_starts: WordStarts) -> Self:
        """Returns the tokens, divided into words as in a text.

        A word such as "U.S." may be several words in a text.
        """
        begins_word = self.begins_word | word_starts(self.ids)
        return dataclasses.replace(self, begins_word=begins_word)

    def locate(
        self, entities: Entities
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Returns the starts and the ends of entities in their texts.

        Both are in characters, or in words if the texts were given as words.
        """
        if self.offsets is None:
            return entities.first_words, entities.last_words + 1
        # The indices of words, and then of tokens, run through all texts.
        firsts = self.words.values
        shift = self.words.row_starts()[:, None]
        num_tokens = tf.size(self.begins_word.values)
        after = tf.concat([firsts[1:], [num_tokens]], axis=0)
        first = tf.gather(firsts, entities.first_words + shift)
        last = tf.gather(after, entities.last_words + shift) - 1
        return (
            tf.gather(self.offsets.start_chars.values, first),
            tf.gather(self.offsets.end_chars.values, last),
        )


def _is_mark(text: str) -> bool:
    """Returns whether a character is a mark, which is a word of its own.

    The marks are Unicode's punctuation, and all ASCII characters except
    letters, digits and the space.
    """
    is_ascii = text.isascii() and not text.isalnum() and text not in ("", " ")
    return is_ascii or unicodedata.category(text or " ")[0] == "P"


def _without_spaces(
    tokens: TokensWithOffsets, texts: tf.Tensor
) -> TokensWithOffsets:
    """Returns the tokens, with spans that leave out a leading space."""
    chars = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
    rows, starts = tokens.ids.value_rowids(), tokens.start_chars.values
    places = tf.gather(tf.cast(chars.row_starts(), tf.int32), rows) + starts
    is_space = tf.gather(tf.pad(chars.values, [[0, 1]]), places) == ord(" ")
    is_longer = tokens.end_chars.values - starts > 1
    moved = tokens.ids.with_values(tf.cast(is_space & is_longer, tf.int32))
    return tokens._replace(
        start_bytes=tokens.start_bytes + moved,
        start_chars=tokens.start_chars + moved,
    )


class WordWindows(NamedTuple):
    """N windows; all windows of a text are adjacent.

    Attributes:
        input_ids: The token ids from [CLS] to [SEP], int32 [N, (tokens)].
        text_numbers: The index of each window's text, in ascending order, int64
            [N].
        is_read: Whether the answer for a word is read at the token, bool [N,
            (tokens)]. Each word is read once: at its first token, in one
            window. Across the windows, the words keep the order of the texts.
    """

    input_ids: tf.RaggedTensor
    text_numbers: tf.Tensor
    is_read: tf.RaggedTensor

    def features(self) -> dict[str, tf.RaggedTensor]:
        """Returns the ragged inputs of the network."""
        return {
            "input_ids": self.input_ids,
            "segment_ids": tf.zeros_like(self.input_ids),
        }


def window_words(
    tokens: Tokens, tokenizer: BertTokenizer, max_seq_length: int
) -> WordWindows:
    """Returns tokens in windows of up to `max_seq_length` tokens.

    Neighboring windows share half of their tokens. The last two may share more,
    because the last window is full and ends with the text. A word has its label
    in the window with the most text around its first token.
    """
    size = max_seq_length - 2
    ids = tokens.ids
    layout = lay_out_windows(ids.row_lengths(), size=size, step=size // 2)
    starts, ends = layout.starts, layout.ends

    # The first half of the shared tokens is read in the first window.
    middles = (starts[1:] + ends[:-1]) // 2
    is_first = layout.numbers.values == 0
    is_last = tf.concat([is_first[1:], [True]], axis=0)
    read_from = tf.where(is_first, starts, tf.pad(middles, [[1, 0]]))
    read_to = tf.where(is_last, ends, tf.pad(middles, [[0, 1]]))

    places = layout.places(ids.row_starts()).values
    numbers = tf.ragged.range(starts, ends)  # [N, (tokens)]
    windows = numbers.value_rowids()
    is_read = (
        tf.gather(tokens.begins_word.values, places)
        & (numbers.values >= tf.gather(read_from, windows))
        & (numbers.values < tf.gather(read_to, windows))
    )
    read_ids = tf.gather(ids.values, places)
    return WordWindows(
        layout.surround(tokenizer.cls_id, read_ids, tokenizer.sep_id),
        layout.text_numbers,
        layout.surround(False, is_read, False),
    )
