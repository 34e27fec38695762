"""Texts -> word pieces, as in google-research/bert, tokenization.py."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import tensorflow as tf

from keras_bert.text.normalizers import Characters
from keras_bert.text.piece_models import KnownWords, WordPiece
from keras_bert.text.vocab import TokenizerBase
from keras_bert.text.words import blank_long_words, clean_text, split_words


class WordPieceSplitter(tf.Module):
    """Cleans texts, and splits clean texts into word pieces.

    Attributes:
        implementation: The name of the code that finds the word pieces.
        trims: Whether the span of a token leaves out the spaces around it.
    """

    trims = False

    def __init__(self, tokenizer: TokenizerBase, library: ModuleType | None):
        """Takes tensorflow-text as `library`, or None to do without it."""
        super().__init__(name="word_piece_splitter")
        self._settings, self._vocab = tokenizer.settings, tokenizer.vocab
        self._library = library
        # tensorflow-text's operation can split texts into words, but then it
        # always splits ideographs.
        self._takes_text = False
        if library is None:
            self.implementation = "keras_bert"
            pieces = {piece: i for i, piece in enumerate(tokenizer.pieces)}
            longest = self._settings.max_input_chars_per_word
            model = WordPiece(pieces, tokenizer.unk_id, longest)
            self._wordpiece: Any = KnownWords(model, pieces)
            return
        self.implementation = f"{library.__name__} {library.__version__}"
        self._takes_text = self._settings.tokenize_chinese_chars
        # White space ends a word, so a piece that contains white space must
        # match nothing; tensorflow-text's operation would find it.
        spellings = [
            piece if piece.split() == [piece] else f"\x01{i}"
            for i, piece in enumerate(tokenizer.pieces)
        ]
        self._wordpiece = library.FastWordpieceTokenizer(
            spellings,
            # Longer words were blanked before; a character has up to 4 bytes.
            max_bytes_per_word=4 * self._settings.max_input_chars_per_word + 1,
            token_out_type=tf.int32,
            unknown_token=tokenizer.special_tokens.unk,
            no_pretokenization=not self._takes_text,
        )

    def valid(self, texts: tf.Tensor) -> tf.Tensor:
        return texts  # cleaning removes invalid bytes

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        return clean_text(texts, self._settings, self._library)

    def tokenize(self, clean: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of tokens, [B, (tokens)], for cleaned texts [B]."""
        if self._takes_text:
            texts = blank_long_words(clean, self._settings)
            return self._wordpiece.tokenize(texts)
        return self.tokenize_with_offsets(clean)[0]

    def tokenize_with_offsets(
        self, clean: tf.Tensor
    ) -> Sequence[tf.RaggedTensor]:
        """Returns the ids, the starts and the ends of tokens, [B, (tokens)].

        `clean` are cleaned texts [B]. The starts and the ends are in bytes.
        """
        if self._library:
            clean = blank_long_words(clean, self._settings)
        if self._takes_text:
            return self._wordpiece.tokenize_with_offsets(clean)
        words, starts = split_words(clean, self._settings, self._library)
        ids, *places = self._wordpiece.tokenize_with_offsets(words)
        shift = tf.gather(starts.flat_values, ids.values.value_rowids())
        places = [x.with_flat_values(x.flat_values + shift) for x in places]
        return [x.merge_dims(1, 2) for x in (ids, *places)]

    def clean_chars(self, chars: Characters) -> tuple[Characters, tf.Tensor]:
        """Returns the characters, and their sizes after cleaning.

        The sizes are in bytes, int32 [C]; 0 for a character that is removed.
        """
        # Cleaning treats each character by itself, except for a final sigma,
        # which has as many bytes as the usual sigma.
        unique, index = tf.unique(chars.codes)
        clean = self.clean(tf.strings.unicode_encode(unique[:, None], "UTF-8"))
        return chars, tf.gather(tf.strings.length(clean), index)

    def trim(
        self, columns: Sequence[tf.RaggedTensor]
    ) -> Sequence[tf.RaggedTensor]:
        return columns  # no word piece has a space

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]."""
        pieces = tf.gather(tf.constant(self._vocab), ids)
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=" ")
        return tf.strings.regex_replace(texts, " ##", "")
