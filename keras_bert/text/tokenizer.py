"""Strings -> ids of word pieces."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.text.vocab import load_vocab
from keras_bert.text.words import split_words

# A longer word becomes [UNK]; counted in characters, not in bytes.
_MAX_CHARS_PER_WORD = 200


class BertTokenizer(tf.Module):
    """WordPiece, as in google-research/bert, tokenization.py.

    Called on strings [B], returns a RaggedTensor [B, (tokens)] of int32 ids,
    without special tokens; a name such as "[SEP]" in the text is split like
    any other text. Works eagerly, in `dataset.map` and in a SavedModel.

    Attributes:
        vocab: The word pieces, in the order of their ids.
        lower_case: Whether text is lower-cased and stripped of accents.
        pad_id, unk_id, cls_id, sep_id, mask_id: Ids of the special tokens.
    """

    def __init__(self, vocab_file: str | Path, lower_case: bool = True):
        super().__init__(name="bert_tokenizer")
        vocab = load_vocab(vocab_file)
        # A tuple: a list would be tracked and stored in every SavedModel.
        self.vocab = tuple(vocab)
        self.lower_case = lower_case
        self.pad_id = vocab.index("[PAD]")
        self.unk_id = vocab.index("[UNK]")
        self.cls_id = vocab.index("[CLS]")
        self.sep_id = vocab.index("[SEP]")
        self.mask_id = vocab.index("[MASK]")
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            vocab,
            # Longer words never arrive; a character has at most 4 bytes.
            max_bytes_per_word=4 * _MAX_CHARS_PER_WORD + 1,
            token_out_type=tf.int32,
            no_pretokenization=True,
        )

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(
            tf.convert_to_tensor(texts), lower_case=self.lower_case
        )
        num_chars = tf.strings.length(words.flat_values, unit="UTF8_CHAR")
        words = words.with_flat_values(
            tf.where(
                num_chars > _MAX_CHARS_PER_WORD, "[UNK]", words.flat_values
            )
        )
        return self._wordpiece.tokenize(words).merge_dims(1, 2)

    def tokens(self, ids) -> list[str]:
        """The word pieces of a flat sequence of ids, to be looked at."""
        return [self.vocab[int(i)] for i in ids]
