"""Text -> clean text -> words and punctuation marks, before any word piece."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_text as tf_text

# A longer word becomes [UNK]; counted in characters, not in bytes.
MAX_CHARS_PER_WORD = 200

# Control and format characters but tab, LF and CR, and U+FFFD.
_DROPPED = r"\x{00}-\x{08}\x{0B}\x{0C}\x{0E}-\x{1F}\x{7F}-\x{9F}\x{FFFD}\p{Cf}"
# Valid UTF-8 (which has no surrogates) with none of the above.
_PLAIN = rf"[^{_DROPPED}\x{{D800}}-\x{{DFFF}}]*"
# The blocks of CJK ideographs; Hangul, Hiragana and Katakana are not in them.
_CJK = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}"
    r"\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}"
    r"\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]"
)
# All ASCII that is no letter, digit or space counts as punctuation. Each
# mark and each ideograph is a word of its own.
_ALONE = rf"[!-/:-@\[-`{{-~]|\p{{P}}|{_CJK}"
_BOUNDARY = rf"[\s\p{{Z}}]|{_ALONE}"
# First, last, and how far behind their small letters are, of capitals that
# came with Unicode 14; TensorFlow lower-cases by Unicode 13.
_NEW_CAPITALS = (
    (0x2C2F, 0x2C2F, 0x30),
    *((point, point, 1) for point in (0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8)),
    (0x10570, 0x1057A, 0x27),
    (0x1057C, 0x1058A, 0x27),
    (0x1058C, 0x10592, 0x27),
    (0x10594, 0x10595, 0x27),
)
_NEW_CAPITAL = "".join(
    rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last, _ in _NEW_CAPITALS
).join("[]")
# What a word over the limit needs; few texts without such a word have it.
_LONG_RUN = rf"(?s).*[^\s!-/:-@\[-`{{-~]{{{MAX_CHARS_PER_WORD + 1}}}.*"


def clean_text(texts: tf.Tensor, *, lower_case: bool) -> tf.Tensor:
    """Drops what never reaches a token from UTF-8 strings [B].

    The rules of `BasicTokenizer` in google-research/bert, tokenization.py,
    but for the splitting. Control characters go, and invalid bytes; with
    `lower_case`, capitals and accents go too.
    """
    plain = tf.strings.regex_full_match(texts, _PLAIN)
    texts = _change_where(~plain, texts, _drop)
    if lower_case:
        texts = tf.strings.lower(texts)  # A to Z only, which is quick
        num_chars = tf.strings.length(texts, unit="UTF8_CHAR")
        is_ascii = tf.strings.length(texts) == num_chars
        texts = _change_where(~is_ascii, texts, _lower_and_strip_accents)
    return texts


def split_words(texts: tf.Tensor, *, lower_case: bool) -> tf.RaggedTensor:
    """Splits UTF-8 strings [B] into ragged clean words [B, (words)]."""
    texts = clean_text(texts, lower_case=lower_case)
    return tf_text.regex_split(texts, _BOUNDARY, _ALONE)


def blank_long_words(texts: tf.Tensor) -> tf.Tensor:
    """Fills words of clean text over the limit with \\x01, byte for byte.

    No word piece matches them then, and no offset changes.
    """
    # Most texts are too short for a long word: the pattern is spared them.
    return _change_where(
        tf.strings.length(texts) > MAX_CHARS_PER_WORD,
        texts,
        lambda texts: _change_where(
            tf.strings.regex_full_match(texts, _LONG_RUN), texts, _blank
        ),
    )


def _drop(texts):
    # Removes invalid bytes; slow.
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", errors="ignore"
    )
    return tf.strings.regex_replace(texts, f"[{_DROPPED}]", "")


def _lower_and_strip_accents(texts):
    texts = tf.strings.lower(texts, encoding="utf-8")
    texts = _change_where(
        tf.strings.regex_full_match(texts, f"(?s).*{_NEW_CAPITAL}.*"),
        texts,
        _lower_new_capitals,
    )
    texts = tf_text.normalize_utf8(texts, "NFD")
    return tf.strings.regex_replace(texts, r"\p{Mn}", "")


def _lower_new_capitals(texts):
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    points = characters.flat_values
    for first, last, distance in _NEW_CAPITALS:
        is_capital = (points >= first) & (points <= last)
        points = tf.where(is_capital, points + distance, points)
    return tf.strings.unicode_encode(
        characters.with_flat_values(points), "UTF-8"
    )


def _blank(texts):
    parts = tf_text.regex_split(texts, _BOUNDARY, _BOUNDARY)
    flat = parts.flat_values
    is_long = tf.strings.length(flat, unit="UTF8_CHAR") > MAX_CHARS_PER_WORD
    blanks = tf.strings.regex_replace(flat, r"\C", "\x01")
    return tf.strings.reduce_join(
        parts.with_flat_values(tf.where(is_long, blanks, flat)), axis=-1
    )


def _change_where(mask, texts, change):
    """Applies `change` to the texts [B] where the mask [B] is True."""
    rows = tf.where(mask)
    return tf.tensor_scatter_nd_update(
        texts, rows, change(tf.gather_nd(texts, rows))
    )
