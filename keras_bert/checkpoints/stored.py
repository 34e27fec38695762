"""An array in a file, read on demand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class StoredArray:
    """A weight of a checkpoint.

    Weights are read one by one, so a big checkpoint is never all in memory.

    Attributes:
        shape: The shape, known without reading the array.
        read: Returns the array.
    """

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]

    @property
    def transposed(self) -> StoredArray:
        return StoredArray(self.shape[::-1], lambda: self.read().T)

    def reshaped(self, *shape: int) -> StoredArray:
        return StoredArray(shape, lambda: self.read().reshape(shape))
