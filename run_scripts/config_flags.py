"""Makes absl flags of dataclass fields, so each default is written once."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from logging import getLogger
from pathlib import Path
from typing import Any

import flag_errors
import flag_help
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
# The names of flags under the titles of --help.
_groups: dict[str, list[str]] = {}


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
    fields = {field.name: field for field in dataclasses.fields(config_class)}
    for name, (title, text) in _documented(config_class).items():
        _groups.setdefault(title, []).append(name)
        default = fields[name].default
        if name in names:
            text += " Takes several values, separated by commas."
            flags.DEFINE_list(name, [str(default)], text)
        else:
            _define(fields[name], default, text)

    def read():
        values = [
            [_number(field, x) for x in flags.FLAGS[name].value]
            if name in names
            else [flags.FLAGS[name].value]
            for name, field in fields.items()
        ]
        return [
            config_class(**dict(zip(fields, combination, strict=True)))
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
    # Settings that several dataclasses inherit come first.
    for config_class in sorted(classes, key=lambda x: len(x.__mro__)):
        documented = _documented(config_class)
        for field in dataclasses.fields(config_class):
            if names is not None and field.name not in names:
                continue
            title, text = documented[field.name]
            if field.name not in fields:
                fields[field.name] = field
                texts[field.name] = {}
                _groups.setdefault(title, []).append(field.name)
            texts[field.name].setdefault(text, []).append(field.default)
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
    # Else the value of an unknown flag would hide the flags after it.
    flags.FLAGS.set_gnu_getopt()
    flag_errors.parse(sys.argv, known_only=True)
    value = flags.FLAGS[name].value
    flags.FLAGS.unparse_flags()
    return value


def _define(field, default, text):
    if choices := field.metadata.get("choices"):
        flags.DEFINE_enum(field.name, default, list(choices), text)
    else:
        _DEFINE[_type_name(field)](field.name, default, text)


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


def _documented(config_class):
    """Returns a title and a text for each field, in the order of --help.

    The fields that a class describes come before those of its parents, under
    the first line of its docstring.
    """
    found = {}
    for parent in config_class.__mro__:
        doc = inspect.cleandoc(parent.__doc__ or "")
        title = doc.partition("\n")[0].rstrip(".")
        for name, text in re.findall(
            r"^ {4}(\w+): (.*(?:\n {8}.*)*)",
            doc.partition("Attributes:")[2],
            re.MULTILINE,
        ):
            found.setdefault(name, (title, " ".join(text.split())))
    return found


def run(
    main: Callable[..., None],
    define_more: Callable[[], None] | None = None,
    *,
    required: Sequence[flags.FlagHolder] = (),
    takes_arguments: bool = False,
) -> None:
    """Parses the flags and calls `main`.

    If the script takes arguments that are not flags, `main` gets them.

    Prints an InputError, an OSError or an error of a library for stores as one
    sentence and exits with status 1.
    Any other exception is a defect and shows its traceback. `define_more`
    defines the flags that depend on the values of other flags.
    """

    def parse(argv):
        if flag_help.is_asked_for(argv[1:]):
            names = [flag.name for flag in required]
            print(flag_help.help_text(names, _groups))
            sys.exit()
        # Flags may come after arguments.
        flags.FLAGS.set_gnu_getopt(takes_arguments)
        with _exit_on_wrong_input():
            argv = flag_errors.parse(argv)
            if len(argv) > 1 and not takes_arguments:
                raise keras_bert.InputError(
                    f"{argv[1]!r} is not a flag; write --name=value, and see "
                    "--help."
                )
            flag_errors.check_required(required)
        return argv

    def run_main(argv):
        logging.set_verbosity(max(flags.FLAGS.verbosity, logging.INFO))
        import_tensorflow()  # not before: --help and wrong flags need not wait
        with _exit_on_wrong_input():
            main(*argv[1:])

    logging.use_absl_handler()
    logging.get_absl_handler().addFilter(_is_from_keras_bert_or_a_warning)
    getLogger("tensorflow").setLevel("WARNING")
    if define_more:
        with _exit_on_wrong_input():
            define_more()
    app.run(run_main, flags_parser=parse)


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
