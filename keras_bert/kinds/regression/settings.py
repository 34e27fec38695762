"""The settings of a regression task."""

from __future__ import annotations

import dataclasses
import math

from keras_bert.errors import InputError
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

    def __post_init__(self):
        super().__post_init__()
        bounds = self.min_value, self.max_value
        if None not in bounds and bounds[0] >= bounds[1]:
            raise InputError(
                f"min_value is {bounds[0]}, but must be below the max_value, "
                f"{bounds[1]}."
            )
