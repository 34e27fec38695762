"""Tables and numbers in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table with a line for the head and a line for each row."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def time(seconds: float) -> str:
    """Returns a time as three digits with a unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.3g} ms"


def number(value: float | None) -> str:
    """Returns a number as two digits; "" for None."""
    return "" if value is None else f"{value:.2g}"
