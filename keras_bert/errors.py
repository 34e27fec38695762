"""The error that is raised for wrong input, and checks that raise it."""

import importlib
import numbers
from collections.abc import Iterable, Mapping, Set
from typing import Any


class InputError(ValueError):
    """A file, a setting or an argument from the user is wrong.

    The message says what was wrong, what was expected and what to do. The
    commands print it without a traceback. Any other ValueError is a defect of
    this package or of a library, and the commands show where it was raised. The
    middle of a long message, such as one that quotes a file, is left out.

    Example:
        >>> keras_bert.kinds.get_kind("guess")
        Traceback (most recent call last):
        keras_bert.errors.InputError: No kind of task is named 'guess'; ...
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) < 1000 else f"{text[:600]} ... {text[-300:]}"


def first_line(error: Exception) -> str:
    """Returns the beginning of an error's message, for another message."""
    return str(error).strip().partition("\n")[0][:200]


def check_count(
    name: str, value: Any, most: int | None = None, what: str = ""
) -> None:
    """Raises InputError if a value is not a whole number from 1 to `most`.

    If `most` is None, there is no upper limit. In the message, `what` explains
    the number `most`.
    """
    is_whole = isinstance(value, numbers.Integral) and value is not True
    if not (is_whole and 1 <= value <= (most or value)):
        expected = (
            f"from 1 to {most}, {what}" if most else "a whole number above 0"
        )
        raise InputError(f"{name} is {value!r}, but must be {expected}.")


def is_list(values: Any, ndims: tuple[int, ...] = (1,)) -> bool:
    """Returns whether a value is a list or another iterable.

    A string, a mapping and a set are not. If the value is an array, it must
    have one of the `ndims`. So by default, a DataFrame is not a list: it has
    two dimensions, and iterating over it yields the names of its columns.
    """
    is_one = isinstance(values, (str, bytes, Mapping, Set))
    has_items = isinstance(values, Iterable) and not is_one
    return has_items and getattr(values, "ndim", ndims[0]) in ndims


def import_extra(name: str, extra: str) -> Any:
    """Returns the module `name`, which the extra `extra` installs.

    If the module is missing, raises InputError that says what to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("_", "-")
        raise InputError(
            f"The package {package} is missing; run pip install "
            f"'keras-bert-tf[{extra}]'."
        ) from error


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raises InputError if a value is not one of the choices."""
    if value not in choices:
        raise InputError(
            f"{name} is {value!r}, but must be one of "
            f"{', '.join(map(str, choices))}."
        )
