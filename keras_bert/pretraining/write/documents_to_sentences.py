"""Documents -> sentences, in graph."""

from __future__ import annotations

import tensorflow as tf

# What a dot is part of when a sentence goes on: an initial, an abbreviation.
_ABBREVIATION = (
    r"\b(\p{Lu}|Mr|Mrs|Ms|Dr|St|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Messrs"
    r"|Mme|Mlle|vs|etc|No|Nos|Vol|Fig|cf|e\.g|i\.e|ca|pp?)\.[\s]+"
)
_GOES_ON = "\ue000"  # stands for the space behind them; private use
_CLOSING = "\"'”’»)\\]"
_END = (
    rf"([.!?…؟۔]+[{_CLOSING}]*)\s+"
    # The next one begins with a capital, a letter of a script without
    # capitals, or a digit.
    r"([\"'“‘«(\[¿¡—-]*[\p{Lu}\p{Lt}\p{Lo}\p{N}])"
)
# Scripts that set no space behind the end.
_END_WITHOUT_SPACE = r"([。！？｡।॥]+[」』”’）]*)"


def split_lines(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)]: one a line."""
    return tf.strings.split(documents, "\n")


def split_sentences(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], split by their punctuation.

    A blank line ends a sentence; the end of a line alone does not, as text is
    often wrapped. No sentence is lost where the rules are wrong, only two are
    taken for one or one for two.
    """
    texts = tf.strings.regex_replace(documents, r"\n\s*\n\s*", "\x00")
    texts = tf.strings.regex_replace(texts, r"\s+", " ")
    texts = tf.strings.regex_replace(texts, _ABBREVIATION, rf"\1.{_GOES_ON}")
    texts = tf.strings.regex_replace(texts, _END, "\\1\n\\2")
    texts = tf.strings.regex_replace(texts, _END_WITHOUT_SPACE, "\\1\n")
    texts = tf.strings.regex_replace(texts, _GOES_ON, " ")
    texts = tf.strings.regex_replace(texts, r"\x00", "\n")
    sentences = tf.strings.split(texts, "\n")
    sentences = sentences.with_flat_values(
        tf.strings.strip(sentences.flat_values)
    )
    return tf.ragged.boolean_mask(sentences, sentences != "")
