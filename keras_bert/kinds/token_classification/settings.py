"""The settings of token classification; they become flags."""

from __future__ import annotations

import dataclasses

from keras_bert.errors import InputError
from keras_bert.kinds.settings import LabelSmoothingSettings
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class TokenClassificationSettings(LabelSmoothingSettings):
    """Settings of a token classification task.

    Attributes:
        entity_grouping: How entities are found in a text, and scored. words
            joins the labels of words, and the score is the least of them;
            first and simple are the strategies of transformers, whose score
            is the mean: first joins the labels of words, simple the labels of
            tokens, and it may cut a word.
        crf: Whether the labels of a text are chosen together, with scores of
            which label follows which (a linear-chain CRF).
    """

    # A window with [CLS] and [SEP] has room for two more tokens.
    max_seq_length: int = setting(128, minimum=4)
    entity_grouping: str = setting(
        "words", choices=("words", "first", "simple")
    )
    crf: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.crf and self.label_smoothing:
            raise InputError(
                f"label_smoothing is {self.label_smoothing}, but the loss of a "
                "CRF cannot be smoothed; set it to 0, or crf to False."
            )
