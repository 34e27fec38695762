"""Strings -> ids of word pieces with their places in the text, and back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert.text import text_ops
from keras_bert.text.added_tokens import AddedTokens
from keras_bert.text.given_texts import to_strings
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import TokenizerBase
from keras_bert.text.without_tensorflow import import_tokenizers
from keras_bert.text.words import blank_long_words, clean_text, split_words


class BertTokenizer(TokenizerBase, tf.Module):
    """WordPiece, as in google-research/bert, tokenization.py.

    Called on strings [B], it returns a RaggedTensor [B, (tokens)] of int32
    ids, without special tokens. It works eagerly, in `dataset.map` and, with
    tensorflow-text, in a SavedModel; without it, the package `tokenizers` finds
    the same pieces. For its attributes see `TokenizerBase`.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> ids = tokenizer(["The fox jumped.", "An unaffable dog"])
        >>> tokenizer.tokens(ids[0])
        ['the', 'fox', 'jump', '##ed', '.']
        >>> tokenizer.detokenize(ids).numpy()[1]
        b'[UNK] unaffable dog'

    Args:
        vocab_file: A vocab.txt.
        do_lower_case: Whether text is lower-cased.
        options: The other fields of `TokenizerSettings`, such as
            `strip_accents`, `special_tokens` and `special_tokens_in_text`.
    """

    def __init__(
        self, vocab_file: str | Path, do_lower_case: bool = True, **options: Any
    ):
        super().__init__(vocab_file, do_lower_case, **options)
        # What finds the word pieces; with another one, ids may differ.
        library = text_ops.tf_text or import_tokenizers()
        self.implementation = f"{library.__name__} {library.__version__}"
        # The op's own splitting always splits ideographs.
        self._takes_text = (
            text_ops.tf_text is not None
            and self.settings.tokenize_chinese_chars
        )
        self._wordpiece = text_ops.wordpiece(
            # White space ends a word, so a piece that contains white space
            # must match nothing; this op would find it.
            [
                p if p.split() == [p] else f"\x01{i}"
                for i, p in enumerate(self.pieces)
            ],
            self.special_tokens.unk,
            self.settings.max_input_chars_per_word,
            splits_text=self._takes_text,
        )
        in_text = self.found_in_text()
        self._in_text = AddedTokens([x for x in in_text if not x.normalized])
        self._in_clean_text = AddedTokens(
            [x for x in in_text if x.normalized], self.settings
        )

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        def tokenize(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            clean = clean_text(texts, self.settings)
            return self._in_clean_text.tokenize(clean, tokenize_clean)

        def tokenize_clean(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            texts = blank_long_words(texts, self.settings)
            if self._takes_text:
                return [self._wordpiece.tokenize(texts)]
            return self._tokenize(texts)[:1]

        return self._in_text.tokenize(to_strings(texts), tokenize)[0]

    def tokenize_with_offsets(self, texts: tf.Tensor) -> "TokensWithOffsets":
        """Does the same, and tells which part of the text each token is.

        A token neither starts nor ends with a character that cleaning removed.
        [UNK] covers its whole word.
        """

        def tokenize(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            ids, starts, ends = self._in_clean_text.tokenize(
                clean_text(texts, self.settings), tokenize_clean, ["BYTE"]
            )
            return _locate(texts, ids, starts, ends, self.settings)

        def tokenize_clean(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            return self._tokenize(blank_long_words(texts, self.settings))

        return TokensWithOffsets(
            *self._in_text.tokenize(
                to_strings(texts), tokenize, ["BYTE", "UTF8_CHAR"]
            )
        )

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]: words with one space between."""
        pieces = tf.gather(tf.constant(self.vocab), ids)
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=" ")
        return tf.strings.regex_replace(texts, " ##", "")

    def _tokenize(self, clean: tf.Tensor) -> list[tf.RaggedTensor]:
        """Clean texts [B] -> ids, their starts and ends, [B, (tokens)]."""
        if self._takes_text:
            return self._wordpiece.tokenize_with_offsets(clean)
        words, word_starts = split_words(clean, self.settings)
        ids, *places = self._wordpiece.tokenize_with_offsets(words)
        word_starts = tf.gather(
            word_starts.flat_values, ids.values.value_rowids()
        )
        places = [
            p.with_flat_values(p.flat_values + word_starts) for p in places
        ]
        return [x.merge_dims(1, 2) for x in (ids, *places)]


class TokensWithOffsets(NamedTuple):
    """Ids, and the part of the text from start to end that each token is.

    All are int32 RaggedTensors [B, (tokens)]. Bytes are those of the UTF-8
    string; characters are code points, as in a Python string. An invalid byte
    counts as a byte, but not as a character.
    """

    ids: tf.RaggedTensor
    start_bytes: tf.RaggedTensor
    end_bytes: tf.RaggedTensor
    start_chars: tf.RaggedTensor
    end_chars: tf.RaggedTensor


def _locate(
    texts: tf.Tensor,
    ids: tf.RaggedTensor,
    starts: tf.RaggedTensor,
    ends: tf.RaggedTensor,
    settings: TokenizerSettings,
) -> TokensWithOffsets:
    """Starts and ends in bytes of the clean texts -> places in the texts."""
    characters, char_starts = tf.strings.unicode_decode_with_offsets(
        texts, "UTF-8", errors="ignore"
    )
    # Cleaning treats each character by itself, except for a final sigma, which
    # has as many bytes as the usual form.
    unique, index = tf.unique(characters.flat_values)
    spelled = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    sizes, clean_sizes = (
        tf.gather(tf.cast(tf.strings.length(x), tf.int64), index)
        for x in (spelled, clean_text(spelled, settings))
    )
    # From here on, all positions count from the start of the first text.
    text_bytes = _splits(tf.strings.length(texts))
    char_starts = char_starts.flat_values + tf.gather(
        text_bytes, characters.value_rowids()
    )
    clean_bytes = _splits(clean_sizes)
    rows = ids.value_rowids()
    clean_starts = tf.gather(
        tf.gather(clean_bytes, characters.row_splits), rows
    )
    # The characters of a token's first and last byte. A token does not include
    # removed characters at its ends.
    first = tf.searchsorted(
        clean_bytes[1:], starts.flat_values + clean_starts, "right", tf.int64
    )
    last = tf.searchsorted(
        clean_bytes[1:], ends.flat_values + clean_starts, "left", tf.int64
    )

    def in_text(positions: tf.Tensor, text_starts: tf.Tensor) -> tf.Tensor:
        positions -= tf.gather(text_starts, rows)
        return ids.with_flat_values(tf.cast(positions, tf.int32))

    return TokensWithOffsets(
        ids,
        in_text(tf.gather(char_starts, first), text_bytes),
        in_text(tf.gather(char_starts + sizes, last), text_bytes),
        in_text(first, characters.row_splits),
        in_text(last + 1, characters.row_splits),
    )


def _splits(lengths: tf.Tensor) -> tf.Tensor:
    """Lengths [N] -> the start of each and the end of the last, int64 [N+1]."""
    return tf.pad(tf.cumsum(tf.cast(lengths, tf.int64)), [[1, 0]])
