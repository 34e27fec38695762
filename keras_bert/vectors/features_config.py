"""Which outputs of a model are features."""

from __future__ import annotations

import dataclasses
import re

from keras_bert.errors import InputError
from keras_bert.settings import check_settings, setting


@dataclasses.dataclass(frozen=True)
class ExtractionConfig:
    """Which layers to extract and how; names as in google-research/bert.

    Example:
        >>> config = keras_bert.vectors.ExtractionConfig(
        ...     layers="-1", pooling="mean"
        ... )
        >>> config.layer_numbers
        (-1,)

    Attributes:
        layers: Comma-separated numbers of layers: -1 is the last one, 0 the
            first one after the embeddings.
        pooling: none keeps a vector for each token. The other values make one
            vector for the text: cls (the first token), mean or max (of all
            tokens, with [CLS] and [SEP]).
        max_seq_length: Longer texts are cut, the longer of a pair first.
        batch_size: Number of texts in a batch.
        do_lower_case: Whether to lower-case the text; by default as the
            checkpoint was trained.
    """

    layers: str = "-1,-2,-3,-4"
    pooling: str = setting("none", choices=("none", "cls", "mean", "max"))
    max_seq_length: int = 128
    batch_size: int = 32
    do_lower_case: bool | None = None

    def __post_init__(self):
        if not re.fullmatch(r"-?\d+(,-?\d+)*", self.layers):
            raise InputError(
                f"layers is {self.layers!r}, but must be numbers with commas "
                "between, such as -1,-2."
            )
        check_settings(self)

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.layers.split(",")))
