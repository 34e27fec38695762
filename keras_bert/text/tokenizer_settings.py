"""What a tokenizer does to a text, in Hugging Face's files.

These are `tokenizer_config.json`, `config.json` and the `tokenizer.json` of the
package `tokenizers`.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import to_json
from keras_bert.settings import CheckedSettings

# A longer word becomes [UNK]; counted in characters, not in bytes.
MAX_CHARS_PER_WORD = 200

# The values of a config whose tokenizer splits text as BERT's does. The
# last two classes do what tokenizer.json says.
_OF_BERT = {
    "tokenizer_class": (
        *("BertTokenizer", "BertTokenizerFast"),
        *("DistilBertTokenizer", "DistilBertTokenizerFast"),
        *("ElectraTokenizer", "ElectraTokenizerFast"),
        *("PreTrainedTokenizerFast", "TokenizersBackend"),
    ),
    "word_tokenizer_type": ("basic",),
    "do_basic_tokenize": (True,),
}
_TYPES = {
    "model": "WordPiece",
    "normalizer": "BertNormalizer",
    "pre_tokenizer": "BertPreTokenizer",
}
# What the normalizer calls the settings of a tokenizer.
_SETTINGS = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}


@dataclasses.dataclass(frozen=True)
class TokenizerSettings(CheckedSettings):
    """Settings that a checkpoint was trained with, in Hugging Face's terms.

    Example:
        >>> settings = keras_bert.text.TokenizerSettings(do_lower_case=False)
        >>> settings.strips_accents
        False
        >>> with open("pretrained/tokenizer_config.json", "w") as file:
        ...     _ = file.write(settings.to_json(model_max_length=16))

    Attributes:
        do_lower_case: Whether text is lower-cased.
        strip_accents: Whether accents are removed; None does as
            `do_lower_case`.
        tokenize_chinese_chars: Whether each CJK ideograph is a word.
    """

    do_lower_case: bool = True
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True

    @property
    def strips_accents(self) -> bool:
        if self.strip_accents is None:
            return self.do_lower_case
        return self.strip_accents

    def to_json(self, model_max_length: int) -> str:
        """Returns the text of a `tokenizer_config.json`."""
        values = dataclasses.asdict(self) | {
            "model_max_length": model_max_length,
            "tokenizer_class": "BertTokenizer",
        }
        return json.dumps(values, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, file: str | Path, defaults: Self | None = None) -> Self:
        """Reads a `tokenizer_config.json`.

        `defaults` are the values that the file does not have. Raises
        InputError if the file is not JSON or holds a wrong value, or if the
        tokenizer is not BERT's.
        """
        try:
            values = json.loads(to_path(file).read_text(encoding="utf-8"))
            names = {field.name for field in dataclasses.fields(cls)}
            known = {name: values[name] for name in names & values.keys()}
            found = dataclasses.replace(defaults or cls(), **known)
        except (AttributeError, ValueError) as error:
            raise InputError(
                f"{file} is not a tokenizer config ({error}); copy it again "
                "or remove it."
            ) from error
        check_tokenizer_class(values, file)
        return found


def check_tokenizer_class(values: Mapping[str, Any], file: str | Path) -> None:
    """Raises InputError if a config of Hugging Face names another tokenizer."""
    for name, choices in _OF_BERT.items():
        if values.get(name) not in (None, *choices):
            raise InputError(
                f"{file} has {name}: {values[name]!r}, which splits text in "
                "another way than the tokenizer of BERT; give a checkpoint "
                "with a BertTokenizer."
            )


def read_vocab(file: Path) -> list[str]:
    """Returns the word pieces in the order of their ids.

    Raises InputError if the file is damaged, or the tokenizer is not BERT's.
    """
    values = _read(file)
    try:
        ids = dict(values["model"]["vocab"])
        ids |= {x["content"]: x["id"] for x in values.get("added_tokens", ())}
        if sorted(ids.values()) != [*range(len(ids))]:
            raise ValueError("the ids of the word pieces have gaps")
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(file, error) from error
    return sorted(ids, key=ids.__getitem__)


def read_settings(file: str | Path) -> dict[str, Any]:
    """Returns the fields of `TokenizerSettings` that the normalizer tells.

    Raises InputError as `read_vocab` does.
    """
    normalizer = _read(to_path(file)).get("normalizer", {})
    return {
        ours: normalizer[name]
        for name, ours in _SETTINGS.items()
        if name in normalizer
    }


def _read(file):
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        found = {
            x: (values[x] or {}).get("type") for x in {*_TYPES} & {*values}
        }
        # Files from before 2021 do not have the type of the model.
        if "max_input_chars_per_word" in values["model"]:
            found["model"] = "WordPiece"
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(file, error) from error
    for name, expected in _TYPES.items():
        if found.get(name, expected) != expected:
            raise InputError(
                f"The {name} of {file} is {found[name]}, but that of BERT is "
                f"{expected}, which splits text in another way; give a "
                "checkpoint with a tokenizer of BERT."
            )
    return values


def _damaged(file, error):
    return InputError(
        f"{file} is not a tokenizer of BERT ({error!r}); give a vocab.txt."
    )


def tokenizer_json(tokenizer: Any) -> str:
    """A tokenizer -> the text of a `tokenizer.json`, for many languages.

    It adds [CLS] and [SEP], and neither truncates nor pads. The ids are those
    of this package, except in texts with some rare characters: ideographs of
    extension E, and punctuation of Unicode 11 and newer.
    """
    settings, special = tokenizer.settings, tokenizer.special_tokens
    # The cleaning and the removal of accents that are built into `tokenizers`
    # treat private characters and some scripts differently.
    normalizers = [
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
        normalizers += [{"type": "NFD"}, _replace(r"\p{Mn}", "")]
    values: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        # Special tokens in a text are plain text, as in this package.
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
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


def _replace(pattern, content):
    pattern = {"Regex": pattern}
    return {"type": "Replace", "pattern": pattern, "content": content}
