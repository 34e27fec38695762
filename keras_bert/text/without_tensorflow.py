"""Strings -> ids and features where TensorFlow is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_bert.errors import InputError
from keras_bert.text.tokenizer_base import TokenizerBase
from keras_bert.text.tokenizer_json import tokenizer_json
from keras_bert.text.tokenizer_settings import TokenizerSettings


class ListTokenizer(TokenizerBase):
    """WordPiece by the package `tokenizers`, for lists of strings.

    Gives the ids of `BertTokenizer`, except in texts with some rare
    characters; see `tokenizer_json`. Of the 20,401 lines on which both were
    compared with google-research/bert, 53 differ (54 of a cased vocabulary),
    and these hold random characters. [CLS] and [SEP] are not added.

    Args:
        vocab_file: A vocab.txt.
        do_lower_case: Whether text is lower-cased.
        strip_accents: Whether accents are removed; None does as
            `do_lower_case`.
        tokenize_chinese_chars: Whether each CJK ideograph is a word.
    """

    def __init__(
        self,
        vocab_file: str | Path,
        do_lower_case: bool = True,
        *,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
    ):
        try:
            import tokenizers
        except ModuleNotFoundError as error:
            raise InputError(
                "Texts need TensorFlow or the package tokenizers, and neither "
                "is installed; pip install tokenizers."
            ) from error
        settings = TokenizerSettings(
            do_lower_case, strip_accents, tokenize_chinese_chars
        )
        super().__init__(vocab_file, settings)
        self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json(self))

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Strings [B] -> ids [B, (tokens)]."""
        if isinstance(texts, str):
            raise InputError(
                f"The texts are one string, {texts[:40]!r}; give a list of "
                "strings."
            )
        rows = self._tokenizer.encode_batch_fast(
            list(texts), add_special_tokens=False
        )
        return [row.ids for row in rows]

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Ids [B, (tokens)] -> strings [B]: words with one space between."""
        return [" ".join(self.tokens(x)).replace(" ##", "") for x in ids]


class ListPreprocessor:
    """Lists of strings -> the features of the encoder, as NumPy arrays.

    Gives what `BertPreprocessor` gives.

    Attributes:
        tokenizer: The `ListTokenizer`.
        max_seq_length: The longest sequence; longer texts are cut.
    """

    def __init__(self, tokenizer: ListTokenizer, max_seq_length: int = 128):
        if max_seq_length < 4:
            raise InputError(
                f"max_seq_length is {max_seq_length}, but must be at least 4: "
                "a pair has three special tokens."
            )
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length

    def __call__(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Packs strings [B], or pairs of them, to int32 [B, S]."""
        segments = [self.tokenizer(x) for x in (first, second) if x is not None]
        if len(segments[0]) != len(segments[-1]):
            raise InputError(
                f"There are {len(segments[0])} first and {len(segments[-1])} "
                "second texts; give as many of each."
            )
        rows = [self._pack(*row) for row in zip(*segments, strict=True)]
        length = max((len(ids) for ids, _ in rows), default=0)
        features = {
            name: np.zeros((len(rows), length), "int32")
            for name in ("input_ids", "input_mask", "segment_ids")
        }
        for i, (ids, segment_ids) in enumerate(rows):
            features["input_ids"][i, : len(ids)] = ids
            features["input_mask"][i, : len(ids)] = 1
            features["segment_ids"][i, : len(ids)] = segment_ids
        return features

    def _pack(self, *segments):
        """[CLS] first [SEP] second [SEP]: the longer segment is cut first."""
        budget = self.max_seq_length - 1 - len(segments)
        keep = [budget]
        if len(segments) == 2:
            first, second = map(len, segments)
            keep = [min(first, max(budget - second, (budget + 1) // 2))]
            keep.append(budget - keep[0])
        ids, segment_ids = [self.tokenizer.cls_id], [0]
        for i, (segment, size) in enumerate(zip(segments, keep, strict=True)):
            part = [*segment[:size], self.tokenizer.sep_id]
            ids += part
            segment_ids += [i] * len(part)
        return ids, segment_ids
