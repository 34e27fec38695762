"""What a tokenizer knows of its vocabulary."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Self

from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import SPECIAL_TOKENS, SpecialTokens, load_vocab


class TokenizerBase:
    """The vocabulary, the settings and the special tokens of a tokenizer.

    Attributes:
        vocab: The word pieces, in the order of their ids.
        settings: The `TokenizerSettings`.
        special_tokens: The `SpecialTokens`.
        pad_id, unk_id, cls_id, sep_id, mask_id: Ids of the special tokens.
    """

    def __init__(
        self,
        vocab_file: str | Path,
        settings: TokenizerSettings,
        special_tokens: SpecialTokens = SPECIAL_TOKENS,
    ):
        vocab = load_vocab(vocab_file, special_tokens)
        # A tuple: a list would be tracked and stored in every SavedModel.
        self.vocab = tuple(vocab)
        self.settings = settings
        self.special_tokens = special_tokens
        self.pad_id = vocab.index(special_tokens.pad)
        self.unk_id = vocab.index(special_tokens.unk)
        self.cls_id = vocab.index(special_tokens.cls)
        self.sep_id = vocab.index(special_tokens.sep)
        self.mask_id = vocab.index(special_tokens.mask)

    @classmethod
    def from_settings(
        cls, vocab_file: str | Path, settings: TokenizerSettings
    ) -> Self:
        """Returns a tokenizer with the settings of a checkpoint."""
        return cls(vocab_file, **dataclasses.asdict(settings))

    def sidecars(self, model_max_length: int) -> dict[str, str]:
        """Returns the text files that belong beside a model's weights."""
        return {
            "vocab.txt": "\n".join(self.vocab) + "\n",
            "tokenizer_config.json": self.settings.to_json(model_max_length),
        }

    @property
    def do_lower_case(self) -> bool:
        return self.settings.do_lower_case

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    def tokens(self, ids) -> list[str]:
        """Returns the word pieces of a flat sequence of ids, for display."""
        return [self.vocab[int(i)] for i in ids]
