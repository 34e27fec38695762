"""A tokenizer -> a `tokenizer.json` for Hugging Face's `tokenizers`."""

from __future__ import annotations

from typing import Any

from keras_bert.files import to_json
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.words import MAX_CHARS_PER_WORD


def tokenizer_json(tokenizer: BertTokenizer) -> str:
    """Returns the text of a `tokenizer.json`, for clients in many languages.

    It adds [CLS] and [SEP], and neither truncates nor pads. `tokenizers` and
    this package differ in few texts: those with control characters, characters
    that a newer Unicode has added, or the accents of some scripts. A test
    counts them.
    """
    pieces = {piece: i for i, piece in enumerate(tokenizer.vocab)}
    settings, special = tokenizer.settings, tokenizer.special_tokens
    values: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        # A special token that stands in a text is text, as in this package.
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.tokenize_chinese_chars,
            "strip_accents": settings.strips_accents,
            "lowercase": settings.do_lower_case,
        },
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
            "vocab": pieces,
        },
    }
    return to_json(values)
