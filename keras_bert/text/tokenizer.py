"""Strings -> ids of word pieces, and back."""

from __future__ import annotations

import re
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.text.offsets import TokensWithOffsets, locate_tokens
from keras_bert.text.vocab import SPECIAL_TOKENS, SpecialTokens, load_vocab
from keras_bert.text.words import (
    MAX_CHARS_PER_WORD,
    blank_long_words,
    clean_text,
)


class BertTokenizer(tf.Module):
    """WordPiece, as in google-research/bert, tokenization.py.

    Called on strings [B], returns a RaggedTensor [B, (tokens)] of int32 ids,
    without special tokens. Works eagerly, in `dataset.map` and in a
    SavedModel.

    Attributes:
        vocab: The word pieces, in the order of their ids.
        lower_case: Whether text is lower-cased and stripped of accents.
        special_tokens: The `SpecialTokens`, as the vocabulary spells them.
        keep_special_tokens: Whether a name such as "[SEP]" in a text becomes
            that token. Otherwise it is split like any other text, so that no
            user can put a special token into a text.
        pad_id, unk_id, cls_id, sep_id, mask_id: Ids of the special tokens.
    """

    def __init__(
        self,
        vocab_file: str | Path,
        lower_case: bool = True,
        *,
        special_tokens: SpecialTokens = SPECIAL_TOKENS,
        keep_special_tokens: bool = False,
    ):
        super().__init__(name="bert_tokenizer")
        vocab = load_vocab(vocab_file, special_tokens)
        # A tuple: a list would be tracked and stored in every SavedModel.
        self.vocab = tuple(vocab)
        self.lower_case = lower_case
        self.special_tokens = special_tokens
        self.keep_special_tokens = keep_special_tokens
        self.pad_id = vocab.index(special_tokens.pad)
        self.unk_id = vocab.index(special_tokens.unk)
        self.cls_id = vocab.index(special_tokens.cls)
        self.sep_id = vocab.index(special_tokens.sep)
        self.mask_id = vocab.index(special_tokens.mask)
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            # Pieces with white space in them match nothing, as white space
            # ends a word; this op would find them.
            [
                p if p.split() == [p] else f"\x01{i}"
                for i, p in enumerate(vocab)
            ],
            # Longer words come blanked; a character has at most 4 bytes.
            max_bytes_per_word=4 * MAX_CHARS_PER_WORD + 1,
            token_out_type=tf.int32,
            unknown_token=special_tokens.unk,
        )

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        texts = tf.convert_to_tensor(texts, tf.string)
        if not self.keep_special_tokens:
            return self._wordpiece.tokenize(self._clean(texts))
        parts = self._parts(texts)
        ids, _, _ = self._tokenize(parts.values)
        return parts.with_values(ids).merge_dims(1, 2)

    def tokenize_with_offsets(self, texts: tf.Tensor) -> TokensWithOffsets:
        """As a call, and where in the text each token stands.

        What is dropped from a text lies between tokens, or inside of one, but
        at no token's end. [UNK] stands where its whole word does.
        """
        parts = self._parts(tf.convert_to_tensor(texts, tf.string))
        return locate_tokens(
            parts,
            *(parts.with_values(t) for t in self._tokenize(parts.values)),
            lower_case=self.lower_case,
        )

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]: words with one space between."""
        pieces = tf.gather(tf.constant(self.vocab), ids)
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=" ")
        return tf.strings.regex_replace(texts, " ##", "")

    def tokens(self, ids) -> list[str]:
        """The word pieces of a flat sequence of ids, to be looked at."""
        return [self.vocab[int(i)] for i in ids]

    def _clean(self, texts):
        return blank_long_words(clean_text(texts, lower_case=self.lower_case))

    def _parts(self, texts):
        """Texts [B] -> [B, (parts)]; a special token is its own part."""
        if not self.keep_special_tokens:
            return tf.RaggedTensor.from_uniform_row_length(texts, 1)
        # The longest first, should one begin with another.
        names = sorted(self.special_tokens, key=len, reverse=True)
        pattern = "|".join(re.escape(name) for name in names)
        return tf_text.regex_split(texts, pattern, pattern)

    def _tokenize(self, parts):
        """Parts [P] -> ids; starts, ends in the clean part; [P, (tokens)]."""
        clean = self._clean(parts)
        if not self.keep_special_tokens:
            return self._wordpiece.tokenize_with_offsets(clean)
        special_ids = tf.fill(tf.shape(parts), -1)
        for name in self.special_tokens:
            special_ids = tf.where(
                parts == name, self.vocab.index(name), special_ids
            )
        special = special_ids >= 0
        ordinary = self._wordpiece.tokenize_with_offsets(
            tf.where(special, "", clean)
        )
        sizes = tf.cast(tf.strings.length(clean), tf.int64)
        return [
            tf.concat([t, _kept(values, special)], axis=1)
            for t, values in zip(
                ordinary,
                (special_ids, tf.zeros_like(sizes), sizes),
                strict=True,
            )
        ]


def _kept(values, mask):
    """Values [P] -> ragged [P, (0 or 1)]: those where the mask is True."""
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(values, mask), tf.cast(mask, tf.int64), validate=False
    )
