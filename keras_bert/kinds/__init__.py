"""The kinds of tasks, each in a file or folder of its own."""

from __future__ import annotations

import importlib
import pkgutil

from keras_bert.errors import InputError
from keras_bert.kinds.kind import KINDS, HeadNames, Kind


def known_kinds() -> dict[str, type[Kind]]:
    """Returns all kinds by name, also those that another file defined.

    Example:
        >>> "classification" in keras_bert.known_kinds()
        True
    """
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(KINDS.items()))


def get_kind(name: str) -> type[Kind]:
    """Returns the kind of a name, such as "classification".

    Raises InputError for a name that no kind has.

    Example:
        >>> keras_bert.get_kind("span").Settings().doc_stride
        128
    """
    kinds = known_kinds()
    if name not in kinds:
        raise InputError(
            f"No kind of task is named {name!r}; known are "
            f"{', '.join(kinds)}. Import the file that defines a kind of your "
            "own first."
        )
    return kinds[name]


def known_heads() -> tuple[HeadNames, ...]:
    """Returns the output layers of all kinds, without duplicates."""
    heads = [
        head for kind in known_kinds().values() for head in kind.head_names
    ]
    return tuple(dict.fromkeys(heads))
