"""How a pre-trained checkpoint answers when it is exported."""

from __future__ import annotations

import dataclasses

from keras_bert.settings import check_settings, setting


@dataclasses.dataclass(frozen=True)
class PretrainedExportConfig:
    """The settings of `export_pretrained`.

    Attributes:
        pooling: The vector of a text in `serving_default`: mean (of all
            tokens), cls (the token [CLS]) or pooled (the output of the
            pooler).
        normalize: Whether all vectors have the length 1.
        max_seq_length: Longest sequence, in tokens with [CLS] and [SEP];
            longer texts are truncated.

    Example:
        >>> keras_bert.PretrainedExportConfig(pooling="cls").normalize
        False
    """

    pooling: str = setting("mean", choices=("mean", "cls", "pooled"))
    normalize: bool = False
    max_seq_length: int = setting(128, minimum=4)

    def __post_init__(self):
        check_settings(self)
