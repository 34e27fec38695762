"""Another learning rate for some variables: a factor by the variable's path."""

from __future__ import annotations

import re
from collections.abc import Mapping


def factor_of(path: str, factors: Mapping[str, float]) -> float:
    """Returns the factor of the first pattern that is found in a path, or 1.

    The keys of `factors` are regular expressions: "^layer_0/", "bias".
    """
    for pattern, factor in factors.items():
        if re.search(pattern, path):
            return factor
    return 1.0


def scaled(learning_rate, factor: float):
    """Multiplies a rate by a factor; 1 leaves the graph as it is."""
    return learning_rate if factor == 1 else learning_rate * factor
