"""The settings of masking."""

from __future__ import annotations

import dataclasses

from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class MaskingConfig:
    """The settings of a `MaskedLMMasker`; the defaults are the paper's.

    Attributes:
        masked_lm_prob: Share of the tokens to predict.
        mask_rate: Share of the tokens to predict that become [MASK].
        random_rate: Share of the tokens to predict that become a random
            token; the rest stay unchanged.
        do_whole_word_mask: Whether a word is masked with all its pieces.
        max_ngram_size: Most neighbouring words masked together; over 1 only
            with do_whole_word_mask.
    """

    masked_lm_prob: float = setting(0.15, maximum=1)
    mask_rate: float = setting(0.8, minimum=0)
    random_rate: float = setting(0.1, minimum=0)
    do_whole_word_mask: bool = False
    max_ngram_size: int = 1
