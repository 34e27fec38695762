"""Name -> kind; every kind that this process has defined."""

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.errors import InputError
from keras_bert.kinds.settings import KindSettings

if TYPE_CHECKING:
    from keras_bert.kinds.kind import Kind

KINDS: "dict[str, type[Kind]]" = {}


def known_kinds() -> "dict[str, type[Kind]]":
    """Returns all kinds by name, also those that another file defined.

    Example:
        >>> "classification" in keras_bert.kinds.known_kinds()
        True
    """
    for module in _modules():
        importlib.import_module(module)
    return dict(sorted(KINDS.items()))


def known_settings() -> list[type[KindSettings]]:
    """Returns the settings of all kinds, without an import of TensorFlow.

    They are the `KindSettings` and its subclasses, also those that another
    file defined.

    Example:
        >>> kinds = keras_bert.kinds
        >>> kinds.EmbeddingSettings in kinds.known_settings()
        True
    """
    for module in _modules():
        if module.endswith(".settings"):
            importlib.import_module(module)
    found = [KindSettings]
    for settings in found:  # grows as it goes
        found += settings.__subclasses__()
    return sorted(dict.fromkeys(found), key=lambda settings: settings.__name__)


def _modules():
    room = str(Path(__file__).parent)
    return [m.name for m in pkgutil.walk_packages([room], "keras_bert.kinds.")]


def get_kind(name: str) -> "type[Kind]":
    """Returns the kind of a name, such as "classification".

    Raises InputError for a name that no kind has.

    Example:
        >>> keras_bert.kinds.get_kind("span").Settings().doc_stride
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
