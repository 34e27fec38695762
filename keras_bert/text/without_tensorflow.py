"""Strings -> ids and features where TensorFlow is not installed."""

import dataclasses
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting
from keras_bert.text.tokenizer_json import tokenizer_json
from keras_bert.text.vocab import TokenizerBase


def import_tokenizers(
    need: str = "Without TensorFlow, texts need",
) -> ModuleType:
    """Returns the package `tokenizers`; raises InputError if it is missing."""
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise InputError(
            f"{need} the package tokenizers, which is not installed; run pip "
            "install tokenizers."
        ) from error
    return tokenizers


class ListTokenizer(TokenizerBase):
    """WordPiece by the package `tokenizers`, for lists of strings.

    It returns the same ids as `BertTokenizer`, with one exception: for a BERT
    vocabulary, ids differ in texts with some rare characters (see
    `tokenizer_json`). On 20,401 test lines, `BertTokenizer` returns the same
    ids as google-research/bert. This class returns different ids on 53 of the
    lines (54 with a cased vocabulary), all of which contain random characters.
    [CLS] and [SEP] are not added.
    """

    def __init__(self, *args: Any, **options: Any):
        """Takes the arguments of `TokenizerBase`."""
        tokenizers = import_tokenizers()
        super().__init__(*args, **options)
        self.library = tokenizers.Tokenizer.from_str(
            tokenizer_json(self, self.found_in_text())
        )

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Strings [B] -> ids [B, (tokens)]."""
        return [row.ids for row in self.encode(texts)]

    def encode(self, texts: Sequence[str]) -> list:
        """Strings [B] -> a `tokenizers.Encoding` of each, no special tokens."""
        if isinstance(texts, str):
            raise InputError(
                f"The texts are one string, {texts[:40]!r}; give a list of "
                "strings."
            )
        return self.library.encode_batch_fast(
            list(texts), add_special_tokens=False
        )

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Ids [B, (tokens)] -> strings [B]: words separated by one space."""
        if self.json:
            return self.library.decode_batch(ids, skip_special_tokens=False)
        return [" ".join(self.tokens(x)).replace(" ##", "") for x in ids]


def check_sizes(sizes: Sequence[int]) -> None:
    """Raises InputError if the numbers of first and second texts differ."""
    if sizes[0] != sizes[-1]:
        raise InputError(
            f"{sizes[0]} first texts and {sizes[1]} second texts were given, "
            "but a pair has one of each; give the same number of both."
        )


@dataclasses.dataclass(eq=False)
class ListPreprocessor(CheckedSettings):
    """Lists of strings -> the features of the encoder, as NumPy arrays.

    The features are the same as from `BertPreprocessor`.

    Attributes:
        tokenizer: The `ListTokenizer`.
        max_seq_length: The maximum sequence length, in tokens; longer texts are
            cut.
    """

    tokenizer: ListTokenizer
    # A pair has three special tokens.
    max_seq_length: int = setting(128, minimum=4)

    def __call__(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Returns packed strings [B], or pairs of strings, int32 [B, S]."""
        rows, _ = self.pack(first, second)
        return pad_rows(rows)

    def pack(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> tuple[list, np.ndarray]:
        """Returns rows for `pad_rows`, and whether each was cut, bool [B]."""
        columns = [
            self.tokenizer.encode(x) for x in (first, second) if x is not None
        ]
        check_sizes([*map(len, columns)])
        between = self.tokenizer.settings.pair_separators * (len(columns) - 1)
        budget = self.max_seq_length - 2 - between
        encoded = list(zip(*columns, strict=True))
        truncated = [sum(map(len, row)) > budget for row in encoded]
        rows = [self._pack(budget, *row) for row in encoded]
        return rows, np.array(truncated, bool)

    def _pack(self, budget: int, first: Any, second: Any = None) -> Any:
        """Returns [CLS] first [SEP] second [SEP]; the longer text is cut."""
        settings = self.tokenizer.settings
        side = settings.truncation_side
        if second is None:
            first.truncate(budget, direction=side)
        else:
            is_longer = len(first) > len(second) or not settings.is_of_hub
            least = max(budget - len(second), (budget + is_longer) // 2)
            first.truncate(min(len(first), least), direction=side)
            second.truncate(budget - len(first), direction=side)
        return self.tokenizer.library.post_process(first, second)


def pad_rows(rows: Sequence) -> dict[str, np.ndarray]:
    """Returns the features of packed rows, padded to int32 [B, S], by name."""
    length = max(map(len, rows), default=0)
    for row in rows:
        row.pad(length)
    values = [(row.ids, row.attention_mask, row.type_ids) for row in rows]
    arrays = np.array(values, "int32").reshape(len(rows), 3, length)
    names = ("input_ids", "input_mask", "segment_ids")
    return {name: arrays[:, i] for i, name in enumerate(names)}
