"""The sizes of all batches of an epoch -> a sample of the batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def sample_by_size(sizes: Sequence[int], num_batches: int) -> list[int]:
    """Returns the indices of batches whose sizes are spread like all sizes.

    All batches are sorted by size and cut into `num_batches` equal parts. The
    batch in the middle of each part is taken.
    """
    order = np.argsort(sizes, kind="stable")
    middles = (np.arange(num_batches) + 0.5) * len(order) / num_batches
    return order[middles.astype(int)].tolist()
