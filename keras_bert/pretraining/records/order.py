"""The order in which the records of a run are read, as a function.

Position p of the order follows from the seed and p alone. So a run can start
at any position, and any number of workers can each compute their own part.

An epoch is shuffled twice. Blocks of neighbouring records, from all files, are
put in a random order. Then the records of many neighbouring blocks, a window,
are shuffled together. The second shuffle keeps the reads of some time within
a part of the files that fits into the memory of the disk cache.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from keras_bert.errors import InputError

_BLOCK = 256
_WINDOW = 2048  # blocks, so 524,288 records
# Each stretch of this many positions holds every corpus by its weight.
_STRETCH = 10_000


class ShuffledOrder:
    """An endless order of the records of one or several corpora.

    The records are numbered through all corpora. Every corpus has epochs of
    its own: each of its records comes once before any comes twice.
    """

    def __init__(
        self, sizes: Sequence[int], weights: Sequence[float], *, seed: int
    ):
        """Takes the number of records of each corpus, and their weights.

        The weights are the shares of the corpora in the order, up to a common
        factor and to 1/10,000. Raises InputError if a share is 0.
        """
        self._corpora = [
            _Corpus(size, (seed, i)) for i, size in enumerate(sizes)
        ]
        self._begins = np.cumsum([0, *sizes])
        self._shares = _shares(weights)
        self._seed = (seed, len(sizes))
        self._stretch = functools.lru_cache(maxsize=4)(self._draw_stretch)

    def __call__(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the numbers of the records and their epochs, int64 [n].

        Takes the positions int64 [n], from 0.
        """
        records, epochs = np.empty_like(positions), np.empty_like(positions)
        stretches, places = np.divmod(positions, _STRETCH)
        for stretch, chosen in _groups(stretches):
            corpora, before = self._stretch(stretch)
            for i, of_corpus in _groups(corpora[places[chosen]]):
                of_corpus = chosen[of_corpus]
                numbers = stretch * self._shares[i] + before[places[of_corpus]]
                found, epochs[of_corpus] = self._corpora[i](numbers)
                records[of_corpus] = self._begins[i] + found
        return records, epochs

    def _draw_stretch(self, stretch):
        """The corpus at each place, and how often it came before."""
        corpora = np.repeat(np.arange(len(self._shares)), self._shares)
        corpora = _generator(*self._seed, stretch).permutation(corpora)
        before = np.empty_like(corpora)
        for i, share in enumerate(self._shares):
            before[corpora == i] = np.arange(share)
        return corpora, before


class _Corpus:
    """The endless order of the records of one corpus."""

    def __init__(self, size, seed):
        self._size = size
        self._seed = seed
        self._epoch = functools.lru_cache(maxsize=2)(self._draw_epoch)
        self._window = functools.lru_cache(maxsize=4)(self._draw_window)

    def __call__(self, positions):
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


def _shares(weights):
    """The positions of each corpus in a stretch; they add up to _STRETCH."""
    weights = np.asarray(weights, np.float64)
    ends = np.round(np.cumsum(weights) / weights.sum() * _STRETCH)
    shares = np.diff(ends, prepend=0).astype(np.int64)
    if not shares.all():
        raise InputError(
            f"The weight {weights[shares == 0][0]:g} of a corpus is less than "
            f"1/{_STRETCH} of all weights; raise it, or leave the corpus out."
        )
    return shares
