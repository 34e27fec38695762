"""The share of the cores that other processes take during a measurement.

A library whose threads wait for each other suffers most if it loses a core. So
ratios from a busy machine mean little.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")
# The columns in which a core does nothing.
_IDLE = ("idle", "iowait")
_COLUMNS = (
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
)


class OtherLoad:
    """The load of other processes since this object was made; Linux only."""

    def __init__(self, own_seconds: float):
        """`own_seconds` are the CPU seconds of our own processes up to now."""
        self._own = own_seconds
        self._busy = _busy_seconds()
        self._time = time.perf_counter()

    def share(self, own_seconds: float) -> float | None:
        """Returns the share of the cores' time that other processes took.

        `own_seconds` are the CPU seconds of our own processes up to now. The
        result is None if the system does not show the load.
        """
        if self._busy is None:
            return None
        busy = _busy_seconds() - self._busy - (own_seconds - self._own)
        wall = time.perf_counter() - self._time
        return max(0.0, busy / wall / len(os.sched_getaffinity(0)))


def _busy_seconds():
    """Returns the busy seconds of this process's cores; None if unknown."""
    if not _STAT.is_file():
        return None
    cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    ticks = 0
    for line in _STAT.read_text().splitlines():
        name, *values = line.split()
        if name in cores:
            columns = zip(_COLUMNS, map(int, values), strict=False)
            ticks += sum(x for column, x in columns if column not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")
