"""Finds kinds by name, among all kinds that this process has defined."""

import importlib

from keras_bert.errors import InputError
from keras_bert.kinds.kind import KINDS, Kind
from keras_bert.kinds.settings import module_names


def known_kinds() -> dict[str, type[Kind]]:
    """Returns all kinds by name, including kinds that another file defined.

    Example:
        >>> "classification" in keras_bert.kinds.known_kinds()
        True
    """
    for name in module_names():
        importlib.import_module(name)
    return dict(sorted(KINDS.items()))


def get_kind(name: str) -> type[Kind]:
    """Returns the kind with a name such as "classification".

    Raises InputError for a name that no kind has.

    Example:
        >>> keras_bert.kinds.get_kind("span").Settings().doc_stride
        128
    """
    kinds = known_kinds()
    if name not in kinds:
        raise InputError(
            f"No kind of task is named {name!r}; the known kinds are "
            f"{', '.join(kinds)}. To use a kind of your own, first import "
            "the file that defines it, or give --task=FILE to the command."
        )
    return kinds[name]
