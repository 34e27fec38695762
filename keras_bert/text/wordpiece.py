"""Texts -> word pieces, as in google-research/bert, tokenization.py."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import tensorflow as tf

from keras_bert.text.offsets import TokensWithOffsets
from keras_bert.text.piece_models import KnownWords, WordPiece
from keras_bert.text.vocab import TokenizerBase
from keras_bert.text.words import blank_long_words, clean_text, split_words


class WordPieceSplitter(tf.Module):
    """Cleans texts, and splits clean texts into word pieces.

    Attributes:
        implementation: What finds the word pieces.
        units: Those of the places that `locate` tells.
    """

    units = ("BYTE", "UTF8_CHAR")

    def __init__(self, tokenizer: TokenizerBase, library: ModuleType | None):
        """Takes tensorflow-text, or None to use plain TensorFlow."""
        super().__init__(name="word_piece_splitter")
        self._settings, self._vocab = tokenizer.settings, tokenizer.vocab
        self._library = library
        # The op's own splitting always splits ideographs.
        self._takes_text = False
        if library is None:
            self.implementation = "keras_bert"
            self._wordpiece: Any = _PlainWordPiece(tokenizer)
            return
        self.implementation = f"{library.__name__} {library.__version__}"
        self._takes_text = self._settings.tokenize_chinese_chars
        self._wordpiece = library.FastWordpieceTokenizer(
            # White space ends a word, so a piece that contains white space
            # must match nothing; this op would find it.
            [
                p if p.split() == [p] else f"\x01{i}"
                for i, p in enumerate(tokenizer.pieces)
            ],
            # Longer words are blanked before; a character has up to 4 bytes.
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
        """Clean texts [B] -> ids [B, (tokens)]."""
        if self._takes_text:
            texts = blank_long_words(clean, self._settings)
            return self._wordpiece.tokenize(texts)
        return self.tokenize_with_offsets(clean)[0]

    def tokenize_with_offsets(
        self, clean: tf.Tensor
    ) -> Sequence[tf.RaggedTensor]:
        """Clean texts [B] -> ids, their starts and ends, [B, (tokens)]."""
        if self._library:
            clean = blank_long_words(clean, self._settings)
        if self._takes_text:
            return self._wordpiece.tokenize_with_offsets(clean)
        words, word_starts = split_words(clean, self._settings, self._library)
        ids, *places = self._wordpiece.tokenize_with_offsets(words)
        word_starts = tf.gather(
            word_starts.flat_values, ids.values.value_rowids()
        )
        places = [
            p.with_flat_values(p.flat_values + word_starts) for p in places
        ]
        return [x.merge_dims(1, 2) for x in (ids, *places)]

    def locate(
        self,
        texts: tf.Tensor,
        ids: tf.RaggedTensor,
        starts: tf.RaggedTensor,
        ends: tf.RaggedTensor,
    ) -> Sequence[tf.RaggedTensor]:
        """Places in clean texts, in bytes -> ids and places in the texts."""
        return _locate(texts, ids, starts, ends, self.clean)

    def finish(
        self, texts: tf.Tensor, columns: Sequence[tf.RaggedTensor]
    ) -> TokensWithOffsets:
        return TokensWithOffsets(*columns)

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]."""
        pieces = tf.gather(tf.constant(self._vocab), ids)
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=" ")
        return tf.strings.regex_replace(texts, " ##", "")


class _PlainWordPiece(tf.Module):
    """Splits words as tensorflow-text does, in plain TensorFlow."""

    def __init__(self, tokenizer: TokenizerBase):
        super().__init__(name="plain_word_piece")
        pieces = {piece: i for i, piece in enumerate(tokenizer.pieces)}
        longest = tokenizer.settings.max_input_chars_per_word
        model = WordPiece(pieces, tokenizer.unk_id, longest)
        self._pieces = KnownWords(model, pieces)

    def tokenize_with_offsets(
        self, words: tf.RaggedTensor
    ) -> list[tf.RaggedTensor]:
        """Words [B, (words)] -> ids, starts and ends [B, (words), (pieces)].

        Starts and ends are places in the word, in bytes.
        """
        pieces = self._pieces(words.values)
        places = (tf.cast(x, tf.int64) for x in (pieces.starts, pieces.ends))
        return [words.with_values(x) for x in (pieces.ids, *places)]


def _locate(
    texts: tf.Tensor,
    ids: tf.RaggedTensor,
    starts: tf.RaggedTensor,
    ends: tf.RaggedTensor,
    clean: Callable[[tf.Tensor], tf.Tensor],
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
        for x in (spelled, clean(spelled))
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
