"""The settings of a tokenizer: all that the tokenizer's files say about it."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting

# The key in `tokenizer_config.json` that holds all fields of
# `TokenizerSettings` but the first three.
OURS = "keras_bert"
CASE = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")


class SpecialTokens(NamedTuple):
    """The names of the special tokens in a vocabulary.

    Example:
        >>> names = keras_bert.text.SpecialTokens(mask=".")
        >>> tokenizer = keras_bert.BertTokenizer(
        ...     "vocab.txt", special_tokens=names
        ... )
        >>> tokenizer.tokens([tokenizer.mask_id])
        ['.']
    """

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"


# Every released vocabulary has these names.
SPECIAL_TOKENS = SpecialTokens()


class AddedToken(NamedTuple):
    """A token that is found in a text before the text is split into words.

    The fields are the same as in the package `tokenizers`. The flags say
    whether the token is found only as a word of its own (`single_word`),
    whether it takes the white space before it (`lstrip`) and after it
    (`rstrip`), whether it is looked for in the cleaned text (`normalized`), and
    whether it is a special token (`special`).
    """

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    @classmethod
    def of(cls, token: str | Mapping[str, Any], **fields: Any) -> Self:
        """Returns a token from its content or fields; ignores other keys."""
        fields |= {"content": token} if isinstance(token, str) else token
        return cls(**{x: fields[x] for x in cls._fields if x in fields})


@dataclasses.dataclass(frozen=True)
class TokenizerSettings(CheckedSettings):
    """The settings of a checkpoint's tokenizer, with Hugging Face's names.

    Example:
        >>> settings = keras_bert.text.TokenizerSettings(do_lower_case=False)
        >>> settings.strips_accents
        False
        >>> with open("pretrained/tokenizer_config.json", "w") as file:
        ...     _ = file.write(settings.to_json(model_max_length=16))

    Attributes:
        do_lower_case: Whether text is lower-cased.
        strip_accents: Whether accents are removed; None means the same as
            `do_lower_case`.
        tokenize_chinese_chars: Whether each CJK ideograph is a word.
        max_input_chars_per_word: The longest word, in characters; a longer
            word becomes [UNK].
        special_tokens: The `SpecialTokens`.
        added_tokens: The tokens that were added to the vocabulary, each an
            `AddedToken`, in the order of their ids.
        special_tokens_in_text: Whether the name of a special token in a text
            becomes that token, as in transformers. By default, the name is
            split like other text, so that no user can put a special token into
            a text.
        second_segment: The segment id of the second text of a pair, 1 or 0.
        pair_separators: The number of [SEP] tokens between the texts of a pair,
            1 or 2.
        truncation_side: The side on which a long text is cut: "right" for its
            end, or "left" for its beginning.
        is_of_hub: Whether transformers' rules apply where they differ from the
            rules of google-research/bert. Lines of vocab.txt are then not
            stripped. If both texts of a pair are cut to an odd number of tokens
            in all, the longer text keeps one token more, or the second text if
            both are equally long.
    """

    do_lower_case: bool = True
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    max_input_chars_per_word: int = 200
    special_tokens: SpecialTokens = SPECIAL_TOKENS
    added_tokens: tuple[AddedToken, ...] = ()
    special_tokens_in_text: bool = False
    second_segment: int = setting(1, minimum=0, maximum=1)
    pair_separators: int = setting(1, minimum=1, maximum=2)
    truncation_side: str = setting("right", choices=("right", "left"))
    is_of_hub: bool = False

    def __repr__(self) -> str:
        # A run's fingerprint contains this string, so the string must not
        # change. It always contains the first three fields.
        values = [f"{x}={getattr(self, x)!r}" for x in self.to_values()]
        return f"TokenizerSettings({', '.join(values)})"

    @property
    def strips_accents(self) -> bool:
        if self.strip_accents is None:
            return self.do_lower_case
        return self.strip_accents

    def to_values(self) -> dict[str, Any]:
        """Returns the fields as JSON values, by name.

        The first three fields are always included. Other fields are left out if
        they have their default values.
        """
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name in CASE or getattr(self, field.name) != field.default
        }
        if self.added_tokens:
            values["added_tokens"] = [x._asdict() for x in self.added_tokens]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any], source: str | Path) -> Self:
        """Returns the settings that JSON values contain; ignores other keys.

        Raises InputError if a value is wrong; its message names `source`.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        values = {name: values[name] for name in names & values.keys()}
        try:
            special = values.get("special_tokens", SPECIAL_TOKENS)
            values["special_tokens"] = SpecialTokens(*special)
            added = [AddedToken(**x) for x in values.get("added_tokens", ())]
            for token in added:
                if (type(token.content), type(token.id)) != (str, int):
                    raise TypeError(f"an added token is {token}.")
            return cls(**values | {"added_tokens": tuple(added)})
        except (TypeError, ValueError) as error:
            raise InputError(
                f"The tokenizer of {source} has a wrong setting: {error} Copy "
                "its files again."
            ) from error

    def to_json(self, model_max_length: int, **more: Any) -> str:
        """Returns a `tokenizer_config.json`; `more` are further keys.

        Settings for which Hugging Face has no key are under `keras_bert`.
        """
        ours = self.to_values()
        values = {name: ours.pop(name) for name in CASE} | {
            "model_max_length": model_max_length,
            "tokenizer_class": "BertTokenizer",
        }
        if ours or more:
            values |= {**more, OURS: ours}
        return json.dumps(values, indent=2, sort_keys=True) + "\n"
