"""Dataclasses of settings that check their values when they are created."""

import dataclasses
import math
import operator
from typing import Any, Self

from keras_bert.errors import InputError, check_choice

_TYPES: dict[str, tuple[Any, str]] = {
    "int": (int, "a whole number (int)"),
    "float": ((int, float), "a number (float)"),
    "bool": (bool, "True or False"),
    "str": (str, "a string"),
}
# The limits, in the order in which they are checked. NaN fails every check.
_LIMITS = {
    "above": (operator.gt, "above"),
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "below": (operator.lt, "below"),
}


def setting(
    default: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    choices: tuple = (),
    needs: str = "",
    is_for_training: bool = False,
) -> Any:
    """Returns a field for a frozen dataclass that is a `CheckedSettings`.

    By default, a number must be above 0. This function can set other limits: a
    `minimum` instead of the default, a `maximum`, a number that the value must
    be `below`, or a list of `choices`. `needs` is the name of the setting
    without which this setting has no effect and must have its default.
    `is_for_training` marks a setting that does not change the answers of a
    trained model.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass(frozen=True)
        ... class Settings(keras_bert.kinds.KindSettings):
        ...     margin: float = keras_bert.kinds.setting(0.0, minimum=0)
        >>> Settings(margin=-1.0)
        Traceback (most recent call last):
        keras_bert.errors.InputError: margin is -1.0, but must be at least 0.
    """
    limits = {"minimum": minimum, "maximum": maximum, "below": below}
    others = {"choices": choices, "is_for_training": is_for_training}
    metadata = limits | others | {"needs": needs}
    return dataclasses.field(default=default, metadata=metadata)


class CheckedSettings:
    """A base class for dataclasses that check their fields at creation.

    Fields of the types int, float, str and bool are checked; a type may also
    allow None, as in `int | None`. Raises InputError for a wrong value.
    """

    def __post_init__(self) -> None:
        settings: Any = self  # a dataclass
        for field in dataclasses.fields(settings):
            value = getattr(self, field.name)
            if hasattr(value, "item"):  # such as np.int64(128)
                value = value.item()
                object.__setattr__(self, field.name, value)
            _check(field, value)
            needs = field.metadata.get("needs")
            if needs and value != field.default and not getattr(self, needs):
                raise InputError(
                    f"{field.name} is {value!r}, but has no effect without "
                    f"{needs}; give both, or leave {field.name} out."
                )

    @classmethod
    def checked(cls, config: Any) -> Self:
        """Returns the config, or the default config for None.

        Raises InputError if the config is anything else.
        """
        if config is None:
            return cls()
        if not isinstance(config, cls):
            raise InputError(
                f"The config is a {type(config).__name__}, but must be a "
                f"{cls.__name__}; write {cls.__name__}(NAME=VALUE)."
            )
        return config


def type_name(type_: Any) -> str:
    """Returns the name of a type, such as "int" or "int | None"."""
    # A string is an annotation that was not evaluated.
    return getattr(type_, "__name__", str(type_))


def _check(field: dataclasses.Field, value: Any) -> None:
    if choices := field.metadata.get("choices"):
        check_choice(field.name, value, choices)
    kind, _, none = type_name(field.type).partition(" | ")
    if kind not in _TYPES or (none and value is None):
        return
    types, expected = _TYPES[kind]
    # In Python, True is an int.
    is_wrong_bool = isinstance(value, bool) and kind != "bool"
    if is_wrong_bool or not isinstance(value, types):
        raise InputError(f"{field.name} is {value!r}, but must be {expected}.")
    if kind not in ("int", "float"):
        return
    if value == math.inf:
        raise InputError(f"{field.name} is {value}, but must be finite.")
    limits = dict(field.metadata)
    if limits.get("minimum") is None:
        limits["above"] = 0
    for name, (holds, words) in _LIMITS.items():
        limit = limits.get(name)
        if limit is not None and not holds(value, limit):
            raise InputError(
                f"{field.name} is {value}, but must be {words} {limit}."
            )
