"""The answer to --help: required flags first, then groups in order of use."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from absl import flags

_WIDTH = 80


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Returns whether the arguments of a script ask for help."""
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    return not {"-h", "-help", "--help"}.isdisjoint(arguments)


def help_text(
    required: Sequence[str], groups: Mapping[str, Iterable[str]]
) -> str:
    """Describes the script that runs and its flags.

    Args:
        required: The names of the flags that must be given.
        groups: The names of the flags that are made of fields, under titles.
    """
    own = [x.name for x in flags.FLAGS.get_flags_for_module(sys.argv[0])]
    groups = {
        "Required": required,
        "Data and model": [name for name in own if name not in required],
        **groups,
    }
    return "\n\n".join(
        [
            (sys.modules["__main__"].__doc__ or "").strip(),
            *(_group(title, names) for title, names in groups.items() if names),
            "--helpfull shows flags of the log and others, such as --flagfile.",
        ]
    )


def _group(title, names):
    return "\n".join(
        [f"{title}:", *(_entry(flags.FLAGS[name]) for name in names)]
    )


def _entry(flag):
    name = f"[no]{flag.name}" if flag.boolean else flag.name
    text = f"--{name}: {flag.help}"
    if flag.default not in (None, "", []):
        text += f" (default: {flag.default_as_str.strip(chr(39))})"
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )
