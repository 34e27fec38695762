"""An array in a file, read when it is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class StoredArray:
    """A weight of a checkpoint; a big model is never in memory as a whole.

    Attributes:
        shape: Known without reading it.
        read: Returns the array.
    """

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]

    @property
    def transposed(self) -> StoredArray:
        return StoredArray(self.shape[::-1], lambda: self.read().T)

    def reshaped(self, *shape: int) -> StoredArray:
        return StoredArray(shape, lambda: self.read().reshape(shape))
