"""Text -> words and punctuation marks, before any word piece is looked up."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_text as tf_text

# Control and format characters but tab, LF and CR, and U+FFFD.
_DROPPED = (
    r"[\x{00}-\x{08}\x{0B}\x{0C}\x{0E}-\x{1F}\x{7F}-\x{9F}\x{FFFD}\p{Cf}]"
)
# The blocks of CJK ideographs; Hangul, Hiragana and Katakana are not in them.
_CJK = (
    r"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}"
    r"\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}"
    r"\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}])"
)
# All ASCII that is no letter, digit or space counts as punctuation.
_PUNCTUATION = r"[!-/:-@\[-`{-~]|\p{P}"
_SPACE_OR_PUNCTUATION = rf"[\s\p{{Z}}]|{_PUNCTUATION}"


def split_words(texts: tf.Tensor, *, lower_case: bool) -> tf.RaggedTensor:
    """Splits UTF-8 strings [B] into ragged words [B, (words)].

    The rules of `BasicTokenizer` in google-research/bert, tokenization.py.
    With `lower_case`, accents go too. Invalid bytes are left out.
    """
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", errors="ignore"
    )
    texts = tf.strings.regex_replace(texts, _DROPPED, "")
    texts = tf.strings.regex_replace(texts, _CJK, r" \1 ")
    if lower_case:
        texts = tf.strings.lower(texts, encoding="utf-8")
        texts = tf_text.normalize_utf8(texts, "NFD")
        texts = tf.strings.regex_replace(texts, r"\p{Mn}", "")
    return tf_text.regex_split(texts, _SPACE_OR_PUNCTUATION, _PUNCTUATION)
