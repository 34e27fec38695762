"""Some batches that stand for all batches of an epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def sample_by_size(sizes: Sequence[int], num_batches: int) -> list[int]:
    """Returns the places of batches whose sizes are spread like those of all.

    They are those in the middle of `num_batches` equal parts, if all batches
    are sorted by their size.
    """
    order = np.argsort(sizes, kind="stable")
    middles = (np.arange(num_batches) + 0.5) * len(order) / num_batches
    return order[middles.astype(int)].tolist()
