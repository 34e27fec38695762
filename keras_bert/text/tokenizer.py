"""Strings -> ids of word pieces, and back."""

from __future__ import annotations

import re
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.text.offsets import TokensWithOffsets, locate_tokens
from keras_bert.text.tokenizer_base import TokenizerBase
from keras_bert.text.tokenizer_settings import (
    MAX_CHARS_PER_WORD,
    TokenizerSettings,
)
from keras_bert.text.vocab import SPECIAL_TOKENS, SpecialTokens
from keras_bert.text.words import blank_long_words, clean_text, split_words


class BertTokenizer(TokenizerBase, tf.Module):
    """WordPiece, as in google-research/bert, tokenization.py.

    Called on strings [B], it returns a RaggedTensor [B, (tokens)] of int32
    ids, without special tokens. It works eagerly, in `dataset.map` and in a
    SavedModel.

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
        strip_accents: Whether accents are removed; None does as
            `do_lower_case`.
        tokenize_chinese_chars: Whether each CJK ideograph is a word.
        special_tokens: The names of the special tokens in the vocabulary.
        keep_special_tokens: Whether a name such as "[SEP]" in a text becomes
            that token. By default it is split like any other text, so that no
            user can put a special token into a text.

    For the attributes see `TokenizerBase`.
    """

    def __init__(
        self,
        vocab_file: str | Path,
        do_lower_case: bool = True,
        *,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        special_tokens: SpecialTokens = SPECIAL_TOKENS,
        keep_special_tokens: bool = False,
    ):
        tf.Module.__init__(self, name="bert_tokenizer")
        settings = TokenizerSettings(
            do_lower_case, strip_accents, tokenize_chinese_chars
        )
        TokenizerBase.__init__(self, vocab_file, settings, special_tokens)
        self.keep_special_tokens = keep_special_tokens
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            # White space ends a word, so a piece that contains white space
            # must match nothing; this op would find it.
            [
                p if p.split() == [p] else f"\x01{i}"
                for i, p in enumerate(self.vocab)
            ],
            # Longer words are blanked before; a character has up to 4 bytes.
            max_bytes_per_word=4 * MAX_CHARS_PER_WORD + 1,
            token_out_type=tf.int32,
            unknown_token=special_tokens.unk,
            # The op's own splitting always splits ideographs.
            no_pretokenization=not tokenize_chinese_chars,
        )

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        texts = tf.convert_to_tensor(texts, tf.string)
        if (
            self.settings.tokenize_chinese_chars
            and not self.keep_special_tokens
        ):
            return self._wordpiece.tokenize(self._clean(texts))
        parts = self._parts(texts)
        ids, _, _ = self._tokenize(parts.values)
        return parts.with_values(ids).merge_dims(1, 2)

    def tokenize_with_offsets(self, texts: tf.Tensor) -> TokensWithOffsets:
        """Does the same, and tells which part of the text each token is.

        A token neither starts nor ends with a character that cleaning removed.
        [UNK] covers its whole word.
        """
        parts = self._parts(tf.convert_to_tensor(texts, tf.string))
        return locate_tokens(
            parts,
            *(parts.with_values(t) for t in self._tokenize(parts.values)),
            settings=self.settings,
        )

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]: words with one space between."""
        pieces = tf.gather(tf.constant(self.vocab), ids)
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=" ")
        return tf.strings.regex_replace(texts, " ##", "")

    def _clean(self, texts):
        texts = clean_text(texts, self.settings)
        return blank_long_words(texts, self.settings)

    def _parts(self, texts):
        """Texts [B] -> [B, (parts)]; each special token is a part."""
        if not self.keep_special_tokens:
            return tf.RaggedTensor.from_uniform_row_length(texts, 1)
        # The longest first, because one name may begin with another.
        names = sorted(self.special_tokens, key=len, reverse=True)
        pattern = "|".join(re.escape(name) for name in names)
        return tf_text.regex_split(texts, pattern, pattern)

    def _tokenize(self, parts):
        """Parts [P] -> ids; starts, ends in the clean part; [P, (tokens)]."""
        clean = self._clean(parts)
        if not self.keep_special_tokens:
            return self._word_pieces(clean)
        special_ids = tf.fill(tf.shape(parts), -1)
        for name in self.special_tokens:
            special_ids = tf.where(
                parts == name, self.vocab.index(name), special_ids
            )
        special = special_ids >= 0
        ordinary = self._word_pieces(tf.where(special, "", clean))
        sizes = tf.cast(tf.strings.length(clean), tf.int64)
        return [
            tf.concat([t, _kept(values, special)], axis=1)
            for t, values in zip(
                ordinary,
                (special_ids, tf.zeros_like(sizes), sizes),
                strict=True,
            )
        ]

    def _word_pieces(self, clean):
        """As `_tokenize`, for clean parts without special tokens."""
        if self.settings.tokenize_chinese_chars:
            return self._wordpiece.tokenize_with_offsets(clean)
        words, word_starts = split_words(clean, self.settings)
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(words)
        word_starts = tf.gather(
            word_starts.flat_values, ids.values.value_rowids()
        )
        return [ids.merge_dims(1, 2)] + [
            places.with_flat_values(
                places.flat_values + word_starts
            ).merge_dims(1, 2)
            for places in (starts, ends)
        ]


def _kept(values, mask):
    """Values [P] -> ragged [P, (0 or 1)], the values whose mask is True."""
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(values, mask), tf.cast(mask, tf.int64), validate=False
    )
