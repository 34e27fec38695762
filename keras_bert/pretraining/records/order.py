"""The order in which the records of a run are read, as a function.

Position p of the order follows from the seed and p alone. So a run can start
at any position, and any number of workers can each compute their own part.

An epoch is shuffled twice. Blocks of neighbouring records, from all files, are
put in a random order. Then the records of many neighbouring blocks, a window,
are shuffled together. The second shuffle keeps the reads of some time within
a part of the files that fits into the memory of the disk cache.
"""

import functools

import numpy as np

_BLOCK = 256
_WINDOW = 2048  # blocks, so 524,288 records


class ShuffledOrder:
    """An endless order of records, numbered from 0 through all files.

    Each record comes once before any comes twice.
    """

    def __init__(self, num_records: int, *, seed: int):
        self._size = num_records
        # When there were several corpora, 0 was the number of the first.
        self._seed = (seed, 0)
        self._epoch = functools.lru_cache(maxsize=2)(self._draw_epoch)
        self._window = functools.lru_cache(maxsize=4)(self._draw_window)

    def __call__(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the numbers of the records and their epochs, int64 [n].

        Takes the positions int64 [n], from 0.
        """
        epochs, places = np.divmod(positions, self._size)
        records = np.empty_like(places)
        for epoch, in_epoch in _groups(epochs):
            _, ends = self._epoch(epoch)
            windows = np.searchsorted(ends, places[in_epoch], side="right")
            for window, chosen in _groups(windows):
                chosen = in_epoch[chosen]
                begin = ends[window - 1] if window else 0
                shuffled = self._window(epoch, window)
                records[chosen] = shuffled[places[chosen] - begin]
        return records, epochs

    def _draw_epoch(self, epoch):
        """The order of the blocks, and the end of each window."""
        num_blocks = -(-self._size // _BLOCK)
        blocks = _generator(*self._seed, epoch).permutation(num_blocks)
        sizes = np.minimum(_BLOCK, self._size - blocks * _BLOCK)
        windows = np.arange(0, num_blocks, _WINDOW)
        return blocks, np.cumsum(np.add.reduceat(sizes, windows))

    def _draw_window(self, epoch, window):
        blocks, _ = self._epoch(epoch)
        blocks = blocks[window * _WINDOW : (window + 1) * _WINDOW, None]
        records = (blocks * _BLOCK + np.arange(_BLOCK)).ravel()
        records = records[records < self._size]
        # From 1: NumPy takes a missing number of a seed for 0.
        generator = _generator(*self._seed, epoch, 1 + window)
        return generator.permutation(records)


def _groups(values):
    """Yields each value and its places."""
    for value in np.unique(values):
        yield int(value), np.flatnonzero(values == value)


def _generator(*seed):
    return np.random.default_rng(seed)
