"""The settings of a multi-label task."""

from __future__ import annotations

import dataclasses

from keras_bert.kinds.settings import (
    ClassWeightSettings,
    LabelSmoothingSettings,
    WindowSettings,
)


@dataclasses.dataclass(frozen=True)
class MultiLabelSettings(
    WindowSettings, LabelSmoothingSettings, ClassWeightSettings
):
    """Settings of a multi-label task."""
