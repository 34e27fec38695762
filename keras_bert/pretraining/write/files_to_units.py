"""Files -> units, which are read and cut into blocks on their own.

Workers read different units at the same time. A unit is a large file or
several small ones, because random next sentences come from the same unit.
"""

from __future__ import annotations

from keras_bert.io.paths import to_path

# About the size of a block, which is the reach of random next sentences.
_UNIT_SIZE = 4_000_000


def group_files(
    files: list[str], unit_size: int = _UNIT_SIZE
) -> list[list[str]]:
    """Groups neighbouring files into units of at least `unit_size` bytes.

    The last unit has at least half of that, unless it is the only one. Only
    the sizes of the files decide where a unit ends.
    """
    units: list[list[str]] = []
    size = unit_size
    for file in files:
        if size >= unit_size:
            units.append([])
            size = 0
        units[-1].append(file)
        size += _size_of(file)
    if size < unit_size / 2 and len(units) > 1:
        rest = units.pop()
        units[-1] += rest
    return units


def _size_of(file):
    return to_path(file).stat().st_size
