"""The settings of a classification task."""

from __future__ import annotations

import dataclasses

from keras_bert.kinds.settings import (
    ClassWeightSettings,
    LabelSmoothingSettings,
    WindowSettings,
)
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class ClassificationSettings(
    WindowSettings, LabelSmoothingSettings, ClassWeightSettings
):
    """Settings of a classification task.

    Attributes:
        bilstm_size: Units, in each direction, of a two-layer BiLSTM on the
            encoder (768 in the paper, 5.1 and 5.3); 0 for no BiLSTM.
    """

    bilstm_size: int = setting(0, minimum=0)
