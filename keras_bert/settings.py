"""Fields of settings: what values they take, checked when one is made."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from keras_bert.errors import InputError

_TYPES: dict[str, tuple[Any, str]] = {
    "int": (int, "a whole number (int)"),
    "float": ((int, float), "a number (float)"),
    "bool": (bool, "True or False"),
    "str": (str, "a string"),
}


def setting(
    default: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    choices: tuple = (),
) -> Any:
    """A field of a frozen dataclass that `check_settings` checks.

    A plain field that holds a number must be above 0. This one may also have
    its `minimum`, be at most its `maximum`, be `below` a number, or be one of
    its `choices`.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass(frozen=True)
        ... class Settings(keras_bert.kinds.KindSettings):
        ...     margin: float = keras_bert.kinds.setting(0.0, minimum=0)
        >>> Settings(margin=-1.0)
        Traceback (most recent call last):
        keras_bert.errors.InputError: margin is -1.0, but must be at least 0.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "minimum": minimum,
            "maximum": maximum,
            "below": below,
            "choices": choices,
        },
    )


def check_settings(settings: Any) -> None:
    """Raises InputError if a field of a dataclass holds a wrong value.

    The fields are int, float, str or bool, or one of these or None.
    """
    for field in dataclasses.fields(settings):
        _check(field, getattr(settings, field.name))


def _check(field, value):
    choices = field.metadata.get("choices")
    if choices and value not in choices:
        raise InputError(
            f"{field.name} is {value!r}, but must be one of "
            f"{', '.join(map(str, choices))}."
        )
    # A type has a name; a string is an annotation that is not evaluated.
    type_name = getattr(field.type, "__name__", str(field.type))
    kind, _, none = type_name.partition(" | ")
    if kind not in _TYPES or (none and value is None):
        return
    types, expected = _TYPES[kind]
    # Python takes True for an int.
    if not isinstance(value, types) or (
        isinstance(value, bool) and kind != "bool"
    ):
        raise InputError(f"{field.name} is {value!r}, but must be {expected}.")
    if kind not in ("int", "float"):
        return
    if value == math.inf:
        raise InputError(f"{field.name} is {value}, but must be finite.")
    minimum = field.metadata.get("minimum")
    if minimum is None and not value > 0:
        raise InputError(f"{field.name} is {value}, but must be above 0.")
    if minimum is not None and not value >= minimum:
        raise InputError(
            f"{field.name} is {value}, but must be at least {minimum}."
        )
    maximum = field.metadata.get("maximum")
    if maximum is not None and not value <= maximum:
        raise InputError(
            f"{field.name} is {value}, but must be at most {maximum}."
        )
    below = field.metadata.get("below")
    if below is not None and not value < below:
        raise InputError(f"{field.name} is {value}, but must be below {below}.")
