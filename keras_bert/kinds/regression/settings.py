"""The settings of a regression task."""

from __future__ import annotations

import dataclasses
import math

from keras_bert.kinds.settings import WindowSettings
from keras_bert.settings import setting


@dataclasses.dataclass(frozen=True)
class RegressionSettings(WindowSettings):
    """Settings of a regression task.

    Attributes:
        min_value: Smaller predictions are raised to this number.
        max_value: Larger predictions are lowered to this number.
    """

    min_value: float | None = setting(None, minimum=-math.inf)
    max_value: float | None = setting(None, minimum=-math.inf)
