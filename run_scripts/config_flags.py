"""Makes absl flags of dataclass fields, so each default is written once."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from logging import getLogger
from pathlib import Path
from typing import Any

from absl import app, flags, logging
from quiet_tensorflow import import_tensorflow

import keras_bert

_WRONG_INPUT = (OSError, keras_bert.InputError)
# Modules whose errors mean that a store such as s3:// did not answer.
_STORES = ("aiohttp.", "botocore.", "gcsfs.", "google.auth.")
_DEFINE = {
    "int": flags.DEFINE_integer,
    "float": flags.DEFINE_float,
    "bool": flags.DEFINE_bool,
    "str": flags.DEFINE_string,
}


def define(config_class: type) -> Callable:
    """Defines a flag for each field of a dataclass.

    The help text is the field's entry under "Attributes:" in the docstring.
    Returns a function that makes a config of the flags' values.
    """
    read = define_grid(config_class, ())
    return lambda: read()[0]


def define_grid(config_class: type, names: Sequence[str]) -> Callable:
    """Like `define`, but the named fields take several values.

    Commas separate the values. Returns a function that makes a list with one
    config for each combination of values.
    """
    fields = dataclasses.fields(config_class)
    helps = _helps(config_class)
    for field in fields:
        if field.name in names:
            flags.DEFINE_list(
                field.name,
                [str(field.default)],
                f"{helps[field.name]} Takes several values, separated by "
                "commas, and tries each.",
            )
            _show_in_help(field)
        else:
            _define(field, field.default, helps[field.name])

    def read():
        values = [
            [_number(field, x) for x in flags.FLAGS[field.name].value]
            if field.name in names
            else [flags.FLAGS[field.name].value]
            for field in fields
        ]
        keys = [field.name for field in fields]
        return [
            config_class(**dict(zip(keys, combination, strict=True)))
            for combination in itertools.product(*values)
        ]

    return read


def define_settings(
    classes: Iterable[type], names: Sequence[str] | None = None
) -> Callable[[], dict[str, Any]]:
    """Defines a flag without a default for each field of the dataclasses.

    Several dataclasses may have the same field; the help has each of their
    texts. With `names`, only these fields have a flag. Returns a function that
    returns only the settings that are given on the command line.
    """
    fields, texts = {}, {}
    for config_class in classes:
        helps = _helps(config_class)
        for field in dataclasses.fields(config_class):
            if names is not None and field.name not in names:
                continue
            fields[field.name] = field
            defaults = texts.setdefault(field.name, {})
            defaults.setdefault(helps[field.name], []).append(field.default)
    for name, field in fields.items():
        shown = [
            f"{text} (default: {' or '.join(map(repr, dict.fromkeys(values)))})"
            for text, values in texts[name].items()
        ]
        _define(field, None, " Or: ".join(shown))

    def read():
        values = {name: flags.FLAGS[name].value for name in fields}
        return {k: value for k, value in values.items() if value is not None}

    return read


def peek(name: str) -> Any:
    """Returns a flag's value before all flags are defined."""
    flags.FLAGS(sys.argv, known_only=True)
    value = flags.FLAGS[name].value
    flags.FLAGS.unparse_flags()
    return value


def _define(field, default, text):
    if choices := field.metadata.get("choices"):
        flags.DEFINE_enum(field.name, default, list(choices), text)
    else:
        _DEFINE[_type_name(field)](field.name, default, text)
    _show_in_help(field)


def _show_in_help(field):
    # absl shows only the flags that the script itself defines, and calls a
    # script by the path in its command.
    flags.FLAGS.register_key_flag_for_module(
        sys.argv[0], flags.FLAGS[field.name]
    )


def _type_name(field):
    """Returns "int" for the types int, "int" and "int | None"."""
    # `from __future__ import annotations` makes the type a string.
    return getattr(field.type, "__name__", str(field.type)).partition(" | ")[0]


def _number(field, text):
    try:
        return {"int": int, "float": float}[_type_name(field)](text)
    except ValueError as error:
        raise keras_bert.InputError(
            f"--{field.name} contains {text!r}, but must be numbers separated "
            "by commas."
        ) from error


def _helps(config_class):
    helps = {}
    for parent in reversed(config_class.__mro__):
        attributes = (parent.__doc__ or "").partition("Attributes:")[2]
        for name, text in re.findall(
            r"^ {8}(\w+): (.*(?:\n {12}.*)*)", attributes, re.MULTILINE
        ):
            helps[name] = " ".join(text.split())
    return helps


def run(
    main: Callable[..., None],
    define_more: Callable[[], None] | None = None,
    *,
    takes_arguments: bool = False,
) -> None:
    """Parses the flags and calls `main`.

    If the script takes arguments that are not flags, `main` gets them.

    Prints an InputError, an OSError or an error of a library for stores as one
    sentence and exits with status 1.
    Any other exception is a defect and shows its traceback. `define_more`
    defines the flags that depend on the values of other flags.
    """

    def parse_and_run(argv):
        if len(argv) > 1 and not takes_arguments:
            sys.exit(f"Error: {argv[1]!r} is not a flag; see --help.")
        logging.set_verbosity(max(flags.FLAGS.verbosity, logging.INFO))
        import_tensorflow()  # not before: --help and wrong flags need not wait
        with _exit_on_wrong_input():
            main(*argv[1:])

    # Flags may come after arguments.
    flags.FLAGS.set_gnu_getopt(takes_arguments)
    logging.use_absl_handler()
    logging.get_absl_handler().addFilter(_is_from_keras_bert_or_a_warning)
    getLogger("tensorflow").setLevel("WARNING")
    if define_more:
        with _exit_on_wrong_input():
            define_more()
    app.run(parse_and_run)


@contextlib.contextmanager
def _exit_on_wrong_input():
    try:
        yield
    except Exception as error:
        is_of_store = type(error).__module__.startswith(_STORES)
        if not (isinstance(error, _WRONG_INPUT) or is_of_store):
            raise
        logging.debug("Raised here:", exc_info=True)
        sys.exit(f"Error: {error}")


def _is_from_keras_bert_or_a_warning(record):
    package = Path(keras_bert.__file__).parent
    return (
        record.levelname != "INFO" or package in Path(record.pathname).parents
    )
