"""What a tokenizer does to a text before it looks for word pieces."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.settings import check_settings

# A longer word becomes [UNK]; counted in characters, not in bytes.
MAX_CHARS_PER_WORD = 200

# The values of a config whose tokenizer splits text as that of BERT does. The
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


@dataclasses.dataclass(frozen=True)
class TokenizerSettings:
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

    def __post_init__(self):
        check_settings(self)

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
    def from_json(
        cls, file: str | Path, defaults: TokenizerSettings | None = None
    ) -> TokenizerSettings:
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
