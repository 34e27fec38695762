"""Documents -> sentences, in the TensorFlow graph."""

from __future__ import annotations

import tensorflow as tf

# A dot after an initial or an abbreviation does not end the sentence.
_ABBREVIATION = (
    r"\b(\p{Lu}|Mr|Mrs|Ms|Dr|St|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Messrs"
    r"|Mme|Mlle|vs|etc|No|Nos|Vol|Fig|cf|e\.g|i\.e|ca|pp?)\.[\s]+"
)
_NO_END = "\ue000"  # replaces the space after them; for private use
_CLOSING = "\"'”’»)\\]"
_END = (
    rf"([.!?…؟۔]+[{_CLOSING}]*)\s+"
    # The next sentence begins with a capital, a letter of a script without
    # capitals, or a digit.
    r"([\"'“‘«(\[¿¡—-]*[\p{Lu}\p{Lt}\p{Lo}\p{N}])"
)
# Scripts without a space after the end of a sentence.
_END_WITHOUT_SPACE = r"([。！？｡।॥]+[」』”’）]*)"


def split_lines(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], one for each line."""
    return tf.strings.split(documents, "\n")


def split_sentences(documents: tf.Tensor) -> tf.RaggedTensor:
    """Strings [B] -> ragged [B, (sentences)], split by their punctuation.

    A blank line ends a sentence. A line break alone does not, because text is
    often wrapped. A wrong guess joins two sentences or splits one; no text is
    lost.
    """
    texts = tf.strings.regex_replace(documents, r"\n\s*\n\s*", "\x00")
    texts = tf.strings.regex_replace(texts, r"\s+", " ")
    texts = tf.strings.regex_replace(texts, _ABBREVIATION, rf"\1.{_NO_END}")
    texts = tf.strings.regex_replace(texts, _END, "\\1\n\\2")
    texts = tf.strings.regex_replace(texts, _END_WITHOUT_SPACE, "\\1\n")
    texts = tf.strings.regex_replace(texts, _NO_END, " ")
    texts = tf.strings.regex_replace(texts, r"\x00", "\n")
    sentences = tf.strings.split(texts, "\n")
    sentences = sentences.with_flat_values(
        tf.strings.strip(sentences.flat_values)
    )
    return tf.ragged.boolean_mask(sentences, sentences != "")
