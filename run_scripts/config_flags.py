"""Dataclasses -> absl flags, so that each default is written once."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import sys
from collections.abc import Callable, Sequence
from logging import getLogger
from pathlib import Path

# Read by TensorFlow when it is first imported: no start-up chatter, and an
# allocator that keeps its memory. The logits of a large vocabulary are
# hundreds of MB, and getting them from the system anew at each step costs
# more than computing on them.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

from absl import app, flags, logging  # noqa: E402

import keras_bert  # noqa: E402

_DEFINE = {
    "int": flags.DEFINE_integer,
    "float": flags.DEFINE_float,
    "bool": flags.DEFINE_bool,
    "str": flags.DEFINE_string,
}


def define(config_class: type) -> Callable:
    """Defines a flag for each field; returns what reads them afterwards.

    The help is the field's line under "Attributes:" in the docstring.
    """
    read = define_grid(config_class, ())
    return lambda: read()[0]


def define_grid(config_class: type, names: Sequence[str]) -> Callable:
    """As `define`, but the named fields take several values.

    They have commas between them. What reads the flags returns a list, with a
    config for each combination.
    """
    fields = dataclasses.fields(config_class)
    helps = _helps(config_class)
    for field in fields:
        if field.name in names:
            flags.DEFINE_list(
                field.name,
                [str(field.default)],
                f"{helps[field.name]} Several, with commas, are all tried.",
            )
        else:
            _DEFINE[field.type](field.name, field.default, helps[field.name])

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


def _number(field, text):
    try:
        return {"int": int, "float": float}[field.type](text)
    except ValueError as error:
        raise ValueError(
            f"--{field.name} has {text!r} in it, but takes numbers with "
            "commas between them."
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


def run(main: Callable[[], None]) -> None:
    """Parses the flags and runs; bad input ends in one sentence, status 1.

    With --verbosity=1 the sentence comes with where it was raised.
    """

    def parse_and_run(argv):
        if len(argv) > 1:
            sys.exit(f"Error: {argv[1]!r} is not a flag; see --help.")
        logging.set_verbosity(max(flags.FLAGS.verbosity, logging.INFO))
        try:
            main()
        except (ImportError, OSError, ValueError) as error:
            logging.debug("Raised here:", exc_info=True)
            sys.exit(f"Error: {error}")

    logging.use_absl_handler()
    logging.get_absl_handler().addFilter(_is_ours_or_a_warning)
    getLogger("tensorflow").setLevel("WARNING")
    app.run(parse_and_run)


def _is_ours_or_a_warning(record):
    package = Path(keras_bert.__file__).parent
    return (
        record.levelname != "INFO" or package in Path(record.pathname).parents
    )
