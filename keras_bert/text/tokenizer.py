"""Strings -> ids of word pieces with their spans in the text, and back."""

import functools
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import tensorflow as tf

from keras_bert.text import text_ops
from keras_bert.text.added_tokens import AddedTokens
from keras_bert.text.given_texts import to_strings
from keras_bert.text.normalizers import Characters
from keras_bert.text.offsets import TokensWithOffsets, locate
from keras_bert.text.text_splitter import TextSplitter
from keras_bert.text.vocab import TokenizerBase
from keras_bert.text.wordpiece import WordPieceSplitter


class BertTokenizer(TokenizerBase, tf.Module):
    """WordPiece, as in google-research/bert, tokenization.py.

    Called on strings [B], it returns a RaggedTensor [B, (tokens)] of int32
    ids, without special tokens. It works eagerly, in `dataset.map` and in a
    SavedModel. It uses tensorflow-text or, where that is not installed,
    TensorFlow alone, with the same results. For its attributes, see
    `TokenizerBase`.

    With the `tokenizer.json` of another model (SentencePiece's Unigram,
    byte-level BPE, MPNet's word pieces), it returns the ids and spans that
    transformers returns, and uses TensorFlow alone; see `TextSplitter`.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> ids = tokenizer(["The fox jumped.", "An unaffable dog"])
        >>> tokenizer.tokens(ids[0])
        ['the', 'fox', 'jump', '##ed', '.']
        >>> tokenizer.detokenize(ids).numpy()[1]
        b'[UNK] unaffable dog'

    Args:
        vocab_file: A vocab.txt, a tokenizer.json, `sentencepiece.bpe.model`,
            or `vocab.json` beside `merges.txt`.
        do_lower_case: Whether text is lower-cased. The default is what the
            tokenizer.json says, or True without a tokenizer.json.
        options: The other fields of `TokenizerSettings`, such as
            `strip_accents`, `special_tokens` and `special_tokens_in_text`.
    """

    # tensorflow-text, or None to use only TensorFlow's own operations.
    library: ModuleType | None = text_ops.tf_text

    def __init__(
        self,
        vocab_file: str | Path,
        do_lower_case: bool | None = None,
        **options: Any,
    ):
        super().__init__(vocab_file, do_lower_case, **options)
        self._splitter: TextSplitter | WordPieceSplitter
        if self.json:
            self.library = None
            self._splitter = TextSplitter(self.json, self)
        else:
            self._splitter = WordPieceSplitter(self, self.library)
        # The name of the code that finds the word pieces: ids may depend on
        # that code.
        self.implementation = self._splitter.implementation
        in_text = self.found_in_text()
        finder = functools.partial(
            AddedTokens, trims=self._splitter.trims, of_bert=not self.json
        )
        self._in_text = finder([x for x in in_text if not x.normalized])
        self._in_clean_text = finder(
            [x for x in in_text if x.normalized],
            self._splitter.clean,
            splits_cjk=self.settings.tokenize_chinese_chars and not self.json,
        )

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        splitter = self._splitter

        def tokenize(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            return self._in_clean_text.tokenize(
                splitter.clean(texts), lambda clean: [splitter.tokenize(clean)]
            )

        texts = splitter.valid(to_strings(texts))
        return self._in_text.tokenize(texts, tokenize)[0]

    def tokenize_with_offsets(self, texts: tf.Tensor) -> TokensWithOffsets:
        """Returns the ids of tokens, and the span of the text that each covers.

        A token neither starts nor ends with a character that cleaning removed.
        [UNK] covers its whole word. The spans are the same as those of the
        checkpoint's tokenizer in transformers.
        """

        def tokenize(texts: tf.Tensor) -> Sequence[tf.RaggedTensor]:
            columns = self._in_clean_text.tokenize(
                self._splitter.clean(texts),
                self._splitter.tokenize_with_offsets,
                "BYTE",
            )
            chars = Characters.of(texts)
            return locate(columns, chars, *self._splitter.clean_chars(chars))

        texts = to_strings(texts)
        columns = self._in_text.tokenize(
            self._splitter.valid(texts), tokenize, "UTF8_CHAR"
        )
        return TokensWithOffsets.of_chars(texts, self._splitter.trim(columns))

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]: words separated by one space."""
        return self._splitter.detokenize(ids)


class PortableTokenizer(BertTokenizer):
    """A `BertTokenizer` that never uses tensorflow-text; the ids are the same.

    A SavedModel that contains it loads without tensorflow-text.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> portable = keras_bert.text.PortableTokenizer.of(tokenizer)
        >>> portable(["The fox jumped."]).to_list()
        [[5, 9, 10, 12, 16]]
    """

    library = None

    @classmethod
    def of(cls, tokenizer: BertTokenizer) -> Self:
        """Returns a portable tokenizer that splits as `tokenizer` does."""
        return cls.from_settings(
            tokenizer.json or tokenizer.pieces, tokenizer.settings
        )
