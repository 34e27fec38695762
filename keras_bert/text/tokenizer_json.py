"""A tokenizer -> a `tokenizer.json` for Hugging Face's `tokenizers`."""

from __future__ import annotations

from typing import Any

from keras_bert.io.whole_files import to_json
from keras_bert.text.tokenizer_base import TokenizerBase
from keras_bert.text.tokenizer_settings import MAX_CHARS_PER_WORD


def tokenizer_json(tokenizer: TokenizerBase) -> str:
    """Returns the text of a `tokenizer.json`, for clients in many languages.

    It adds [CLS] and [SEP], and neither truncates nor pads. The ids are those
    of this package, except in texts with some rare characters: ideographs of
    extension E, and punctuation of Unicode 11 and newer.
    """
    special = tokenizer.special_tokens
    values: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        # Special tokens in a text are plain text, as in this package.
        "added_tokens": [],
        "normalizer": _normalizer(tokenizer.settings),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [special.sep, tokenizer.sep_id],
            "cls": [special.cls, tokenizer.cls_id],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": special.unk,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": MAX_CHARS_PER_WORD,
            "vocab": {x: i for i, x in enumerate(tokenizer.vocab)},
        },
    }
    return to_json(values)


def _normalizer(settings):
    # The cleaning and the removal of accents that are built into `tokenizers`
    # treat private characters and some scripts differently.
    steps = [
        _replace(r"[\t\n\r\p{Zs}]", " "),
        _replace(r"[\p{Cc}\p{Cf}\x{FFFD}]", ""),
        {
            "type": "BertNormalizer",
            "clean_text": False,
            "handle_chinese_chars": settings.tokenize_chinese_chars,
            "strip_accents": False,
            "lowercase": settings.do_lower_case,
        },
    ]
    if settings.strips_accents:
        steps += [{"type": "NFD"}, _replace(r"\p{Mn}", "")]
    return {"type": "Sequence", "normalizers": steps}


def _replace(pattern, content):
    return {
        "type": "Replace",
        "pattern": {"Regex": pattern},
        "content": content,
    }
