"""Text -> clean text -> words and punctuation marks, not yet word pieces."""

from types import ModuleType

import tensorflow as tf

from keras_bert.text import text_ops
from keras_bert.text.normalizers import unicode_form
from keras_bert.text.tokenizer_settings import TokenizerSettings

# Control and format characters except tab, LF and CR; and U+FFFD.
_DROPPED = r"\x{00}-\x{08}\x{0B}\x{0C}\x{0E}-\x{1F}\x{7F}-\x{9F}\x{FFFD}\p{Cf}"
# Valid UTF-8 (which has no surrogates) with none of these characters.
_PLAIN = rf"[^{_DROPPED}\x{{D800}}-\x{{DFFF}}]*"
# All ASCII except letters, digits and spaces counts as punctuation. Each mark
# is a word.
_MARK = r"[!-/:-@\[-`{-~]|\p{P}"
# The blocks of CJK ideographs, without Hangul, Hiragana and Katakana.
CJK = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}"
    r"\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}"
    r"\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]"
)
_SPACE = r"[\s\p{Z}]"
# Matches every text with a word of this many characters, and few other texts.
_LONG_RUN = r"(?s).*[^\s!-/:-@\[-`{-~]{%d}.*"
_MOST_REPEATED = 1000  # RE2 allows no more repetitions


def clean_text(
    texts: tf.Tensor,
    settings: TokenizerSettings,
    library: ModuleType | None = text_ops.tf_text,
) -> tf.Tensor:
    """Returns UTF-8 strings [B] without characters that no token can contain.

    The rules are the same as in google-research/bert's `BasicTokenizer`,
    tokenization.py, without the splitting. Control characters and invalid bytes
    are removed. If the settings say so, capitals become lower case and accents
    are removed. `library` is tensorflow-text, or None to do without it.
    """
    plain = tf.strings.regex_full_match(texts, _PLAIN)
    texts = text_ops.change_where(~plain, texts, _drop)
    if settings.do_lower_case:
        texts = tf.strings.lower(texts)  # only A to Z, which is fast
    if settings.do_lower_case or settings.strips_accents:
        num_chars = tf.strings.length(texts, unit="UTF8_CHAR")
        is_ascii = tf.strings.length(texts) == num_chars
        texts = text_ops.change_where(
            ~is_ascii, texts, _lower_and_strip, settings, library
        )
    return texts


def split_words(
    texts: tf.Tensor,
    settings: TokenizerSettings,
    library: ModuleType | None = text_ops.tf_text,
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Splits clean text [B] into words.

    Returns ragged [B, (words)]: the words, and the byte offset at which each
    word starts.
    """
    alone = _words_of_one(settings)
    return text_ops.split(texts, f"{_SPACE}|{alone}", alone, library)


def blank_long_words(
    texts: tf.Tensor, settings: TokenizerSettings
) -> tf.Tensor:
    """Returns clean text in which each byte of an overlong word is \\x01.

    No word piece matches such a word, and no offset changes.
    """
    # Most texts are too short for an overlong word, and skip the slow pattern.
    is_long = tf.strings.length(texts) > settings.max_input_chars_per_word
    return text_ops.change_where(is_long, texts, _blank_runs, settings)


def _words_of_one(settings: TokenizerSettings) -> str:
    """Returns the pattern of characters that are words by themselves."""
    return f"{_MARK}|{CJK}" if settings.tokenize_chinese_chars else _MARK


def _drop(texts: tf.Tensor) -> tf.Tensor:
    texts = text_ops.drop_invalid(texts)
    return tf.strings.regex_replace(texts, f"[{_DROPPED}]", "")


def _lower_and_strip(
    texts: tf.Tensor, settings: TokenizerSettings, library: ModuleType | None
) -> tf.Tensor:
    if settings.do_lower_case:
        if settings.is_of_hub:
            # In transformers, a capital sigma at the end of a word becomes σ,
            # not the final form ς.
            texts = tf.strings.regex_replace(texts, "Σ", "σ")
        texts = tf.strings.lower(texts, encoding="utf-8")
    if settings.strips_accents:
        if library:
            texts = library.normalize_utf8(texts, "NFD")
        else:
            texts = unicode_form("NFD", is_newest=True).clean(texts)
        texts = tf.strings.regex_replace(texts, r"\p{Mn}", "")
    return texts


def _blank_runs(texts: tf.Tensor, settings: TokenizerSettings) -> tf.Tensor:
    longest = settings.max_input_chars_per_word
    pattern = _LONG_RUN % min(longest + 1, _MOST_REPEATED)
    is_match = tf.strings.regex_full_match(texts, pattern)
    return text_ops.change_where(is_match, texts, _blank, settings)


def _blank(texts: tf.Tensor, settings: TokenizerSettings) -> tf.Tensor:
    boundary = f"{_SPACE}|{_words_of_one(settings)}"
    parts, _ = text_ops.split(texts, boundary, boundary, text_ops.tf_text)
    flat = parts.flat_values
    num_chars = tf.strings.length(flat, unit="UTF8_CHAR")
    is_long = num_chars > settings.max_input_chars_per_word
    blanks = tf.strings.regex_replace(flat, r"\C", "\x01")
    return tf.strings.reduce_join(
        parts.with_flat_values(tf.where(is_long, blanks, flat)), axis=-1
    )
