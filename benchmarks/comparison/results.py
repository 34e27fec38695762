"""The measured seconds of all works in a file, and their ratios.

Each work is stored with the machine and the versions of its own run, so one
work can be measured again without the others.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from comparison.work import Work

FILE = "results.json"


class Reached(NamedTuple):
    """A target of a work, and what was measured.

    Attributes:
        case: The name of the case.
        peer: The name of the peer.
        ours: The name of our fastest contestant.
        ratio: The median over the rounds of the peer's time divided by ours.
        target: The ratio that we want at least.
    """

    case: str
    peer: str
    ours: str
    ratio: float
    target: float

    @property
    def is_reached(self) -> bool:
        return self.ratio >= self.target


def read_results(folder: Path) -> dict[str, Any]:
    """Returns the results of each work, by name; see `write_result`."""
    file = folder / FILE
    if not file.is_file():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))


def write_result(folder: Path, name: str, result: Mapping[str, Any]) -> None:
    """Replaces the result of a work in the file; keeps the other results.

    A result has the `machine`, and the `versions` and `peak_memory` of each
    contestant. Its `cases` have, for each case and contestant, the `seconds` of
    the rounds, and perhaps the `difference` from the first contestant and the
    `flops` of the work. `matrix_product` has the speeds of the largest product,
    in FLOP/s, in the rounds of all cases.
    """
    results = read_results(folder) | {name: result}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1)
    # A list of numbers on one line.
    text = re.sub(
        r"\[[^\[\]{}]*\]", lambda match: " ".join(match[0].split()), text
    )
    partial = folder / f"{FILE}.partial"
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / FILE)


def ratio(peer: Sequence[float], ours: Sequence[float]) -> float:
    """Returns the median over the rounds of the peer's time divided by ours."""
    return statistics.median(p / o for p, o in zip(peer, ours, strict=True))


def fastest_of_ours(work: Work, figures: Mapping[str, Any]) -> str | None:
    """Returns the name of our contestant with the smallest median, or None."""
    names = [
        contestant.name
        for contestant in work.contestants
        if contestant.is_ours and contestant.name in figures
    ]
    return min(
        names,
        key=lambda name: statistics.median(figures[name]["seconds"]),
        default=None,
    )


def reached_targets(work: Work, result: Mapping[str, Any]) -> Iterator[Reached]:
    """Yields the targets of a work for which there are measurements."""
    for target in work.targets:
        figures = result["cases"].get(target.case, {})
        ours = fastest_of_ours(work, figures)
        if ours and target.peer in figures:
            yield Reached(
                target.case,
                target.peer,
                ours,
                ratio(
                    figures[target.peer]["seconds"], figures[ours]["seconds"]
                ),
                target.ratio,
            )


def matrix_speed(result: Mapping[str, Any]) -> float | None:
    """Returns the FLOP/s of the largest matrix product, if it was measured."""
    speeds = result.get("matrix_product")
    return statistics.median(speeds) if speeds else None


def shares(
    result: Mapping[str, Any], speed: float | None
) -> dict[tuple[str, str], float]:
    """Returns the share of a speed for each case and contestant.

    The share is the FLOP/s of the contestant divided by `speed`.
    """
    found = {}
    for case, figures in result["cases"].items():
        flops = max((x.get("flops", 0.0) for x in figures.values()), default=0)
        if not (flops and speed):
            continue
        for name, values in figures.items():
            seconds = statistics.median(values["seconds"])
            found[case, name] = flops / seconds / speed
    return found
