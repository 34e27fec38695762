"""Runs the subcommand that a command line names, with its flags.

A subcommand is a module with a function `run`; see `Flags`. `run` prints what
it did, or returns figures to print. A module may also define three names:
`define(flags)` adds flags, `translate(flags)` sets flags from the flags of
google-research/bert, and `NEEDS` maps a flag to the flag without which it has
no effect.
"""

import contextlib
import errno
import importlib.util
import itertools
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from logging import getLogger
from pathlib import Path
from types import ModuleType
from typing import Any

from absl import logging

import keras_bert
from keras_bert.commands.flags import Flags
from keras_bert.quiet_tensorflow import import_tensorflow

# The subcommands in order of use; their modules have underscores for hyphens.
COMMANDS = (
    "build-vocab create-pretraining-data pretrain finetune export predict "
    "serve embed evaluate-retrieval convert extend-vocab trim-vocab "
    "extend-positions keep-layers distill"
).split()
# Modules whose errors mean that a store such as s3:// did not answer.
_STORES = ("aiohttp.", "botocore.", "gcsfs.", "google.auth.")
# The package to install for each missing module.
_PACKAGES = {"keras": "tensorflow", "tensorflow": "tensorflow"} | dict.fromkeys(
    ("httptools", "prometheus_client", "starlette", "uvicorn"),
    "'keras-bert-tf[serve]'",
)
_HELP = {"-h", "-help", "--help"}
_COMPLETION = Path(__file__).with_name("completion.bash")


def main(command: str = "") -> None:
    """Runs the command `keras-bert`, or one of its subcommands.

    Prints an InputError, an OSError or an error of a storage library as one
    sentence, and exits with status 1. Any other exception is a defect and shows
    its traceback.
    """
    # SIGTERM ends a command like Ctrl-C, so the command can still remove its
    # half-written files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    words = [command] if command else []
    command, *arguments = [*words, *sys.argv[1:]] or ["--help"]
    if command in COMMANDS:
        run(f"keras-bert {command}", _module(command), arguments)
    elif command in _HELP:
        print("BERT for TensorFlow and Keras, from text to a server.\n")
        for name in COMMANDS:
            print(f"  {name:24}", _module(name).__doc__.partition("\n")[0])
        print("\nkeras-bert COMMAND --help lists the flags of a command.")
    elif command == "completion":
        if arguments != ["bash"]:
            sys.exit("Error: keras-bert completion supports only bash.")
        script = _COMPLETION.read_text(encoding="utf-8")
        print(script.replace("COMMANDS", " ".join(COMMANDS)), end="")
    elif command == "--version":
        print(keras_bert.__version__)
    else:
        sys.exit(f"Error: {command!r} is not a command; see keras-bert --help.")


def _module(command: str) -> Any:
    name = command.replace("-", "_")
    return importlib.import_module(f"keras_bert.commands.{name}")


def run(name: str, module: ModuleType, arguments: Sequence[str]) -> None:
    getLogger("tensorflow").setLevel("WARNING")
    with exit_on_wrong_input():
        flags = Flags(name, arguments, module.run, module.__doc__ or "")
        if hasattr(module, "define"):
            module.define(flags)
        flags.add_aliases()
        if _HELP & set(itertools.takewhile("--".__ne__, arguments)):
            print(flags.help_text())
            return
        texts = flags.parse()
        if hasattr(module, "translate"):
            module.translate(flags)
        flags.check_required()
        flags.check_needs(getattr(module, "NEEDS", {}))
        import_tensorflow()  # only now: --help and wrong flags need not wait
        from keras_bert.progress import shown_log

        with shown_log():
            figures = module.run(*texts, **flags.arguments())
    for figure, value in (figures or {}).items():
        print(figure, "=", value if isinstance(value, int) else f"{value:.6g}")


@contextlib.contextmanager
def exit_on_wrong_input() -> Iterator[None]:
    """Exits with one sentence, not a traceback, after an error by the user."""
    try:
        yield
    except KeyboardInterrupt:
        print("Stopped by Ctrl-C.", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader of the output, such as head, has closed it. At exit,
        # Python would try to write the rest, and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        sys.exit(
            f"Error: This command needs the package {package}, which is not "
            f"installed; run pip install {_PACKAGES[package]}."
        )
    except Exception as error:
        is_of_store = type(error).__module__.startswith(_STORES)
        is_wrong_input = isinstance(error, (OSError, keras_bert.InputError))
        if not (is_wrong_input or is_of_store):
            raise
        logging.debug("Raised here:", exc_info=True)
        sys.exit(f"Error: {_sentence(error)}")


def _sentence(error: Exception) -> object:
    """Returns the message to print for an exception.

    For a system error, the message names the file and says what to do.
    """
    if isinstance(error, OSError) and error.strerror:
        todo = "check the path"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            todo = "free some disk space, and repeat"
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}; {todo}."
    return error
