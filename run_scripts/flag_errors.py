"""Wrong flags -> one sentence that says what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from absl import flags

import keras_bert

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def parse(argv: Sequence[str], known_only: bool = False) -> list[str]:
    """Reads the flags; returns the other arguments, after the script's name.

    Raises:
        InputError: If a flag is unknown, or its value is wrong.
    """
    _check_arguments(argv[1:])
    try:
        return flags.FLAGS(argv, known_only=known_only)
    except (flags.Error, ValueError) as error:
        raise keras_bert.InputError(_sentence(error)) from error


def check_required(holders: Iterable[flags.FlagHolder]) -> None:
    """Raises InputError if a flag has no value, or an empty one."""
    missing = [f"--{x.name}" for x in holders if x.value in (None, "", [])]
    if missing:
        *others, last = missing
        names = f"{', '.join(others)} and {last}" if others else last
        raise keras_bert.InputError(f"Give {names}; see --help.")


def _check_arguments(arguments):
    """Finds what absl would take: a flag twice, or a flag as a value."""
    given = set()
    arguments = iter(arguments)
    for argument in arguments:
        if argument == "--":
            return
        flag, value = _flag(argument)
        if flag is None:
            continue  # absl names unknown flags
        if value is None and not flag.boolean:
            value = next(arguments, None)
            if value is None or _flag(value)[0] is not None:
                raise keras_bert.InputError(
                    f"{argument} has no value; write {argument}=VALUE."
                )
        if flag.name in given:
            raise keras_bert.InputError(
                f"--{flag.name} is given twice; give it once."
            )
        given.add(flag.name)


def _flag(argument):
    """Returns the flag and the value in an argument, each None if absent."""
    match = re.fullmatch(r"--?(no)?(\w+)(?:=(.*))?", argument, re.DOTALL)
    if not match:
        return None, None
    no, name, value = match.groups()
    known = flags.FLAGS
    if no and name in known and known[name].boolean:
        return known[name], value
    name = f"{no or ''}{name}"
    return known[name] if name in known else None, value


def _sentence(error):
    if isinstance(error, flags.UnrecognizedFlagError):
        names = difflib.get_close_matches(error.flagname, flags.FLAGS, n=1)
        hint = f"; perhaps --{names[0]}" if names else ""
        if " " in error.flagname:
            hint += "; write --name=value, and -- before a text that begins so"
        return f"--{error.flagname} is not a flag{hint}; see --help."
    reason = error.__context__ or error
    if isinstance(error, (flags.CantOpenFlagFileError, UnicodeDecodeError)):
        return f"A --flagfile cannot be read: {reason}."
    wrong = re.fullmatch(
        r"flag --(\w+)=(.*)", str(error).removesuffix(f": {reason}"), re.DOTALL
    )
    parser = wrong and flags.FLAGS[wrong[1]].parser
    if choices := getattr(parser, "enum_values", None):
        expected = f"one of {', '.join(choices)}"
    else:
        expected = parser and _EXPECTED.get(parser.flag_type())
    if not expected:
        return f"{error}; see --help."
    return f"--{wrong[1]} is {wrong[2]!r}, but must be {expected}."
