"""The settings of a token classification task."""

from __future__ import annotations

import dataclasses

from keras_bert.kinds.settings import LabelSmoothingSettings
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class TokenClassificationSettings(LabelSmoothingSettings):
    """Settings of a token classification task.

    Attributes:
        features: The hidden states of a frozen encoder on which a tagger is
            trained (paper, 5.3); "" to train the encoder too.
        bilstm_size: Units, in each direction, of a two-layer BiLSTM on the
            encoder (768 in the paper, 5.1 and 5.3); 0 for no BiLSTM.
    """

    features: str = setting(
        "",
        choices=(
            "",
            "embeddings",
            "second_to_last",
            "last",
            "weighted_sum_last_four",
            "concat_last_four",
            "weighted_sum_all",
        ),
    )
    bilstm_size: int = setting(0, minimum=0)
