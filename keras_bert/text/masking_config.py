"""The settings of masking."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting


@dataclasses.dataclass(frozen=True)
class MaskingConfig(CheckedSettings):
    """The settings of a `MaskedLMMasker`; the defaults are the paper's.

    Attributes:
        max_predictions_per_seq: The largest number of tokens to predict in a
            sequence.
        masked_lm_prob: The share of all tokens that are predicted.
        mask_rate: The share of the predicted tokens that become [MASK].
        random_rate: The share of the predicted tokens that become a random
            token; the rest stay unchanged.
        do_whole_word_mask: Whether all pieces of a word are predicted together.
    """

    max_predictions_per_seq: int = 20
    masked_lm_prob: float = setting(0.15, below=1)
    mask_rate: float = setting(0.8, minimum=0)
    random_rate: float = setting(0.1, minimum=0)
    do_whole_word_mask: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mask_rate + self.random_rate > 1:
            raise InputError(
                f"mask_rate is {self.mask_rate} and random_rate is "
                f"{self.random_rate}, but their sum must be at most 1; the "
                "paper uses 0.8 and 0.1."
            )
