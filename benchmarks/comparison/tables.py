"""Results -> tables and a page in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from comparison.accelerator_tables import accelerator_remark, accelerator_table
from comparison.markdown import number, table, time
from comparison.results import (
    fastest_of_ours,
    matrix_speed,
    ratio,
    reached_targets,
    shares,
)
from comparison.work import Work

# The share of the cores' time that other processes take.
_MUCH_LOAD = 0.05
_INTRODUCTION = """\
# This package beside its peers

`make bench` wrote this folder. The contestants of a work take turns on the same
machine. Each contestant runs alone, with all cores, in a separate process. The
first round is not timed. `results.json` has the seconds of all rounds.

In each round, the time of a contestant is divided by the time of our fastest
contestant. The ratio is the median of these quotients: above 1, ours is faster.
The time is the median, and the spread is from the smallest to the largest time.
The memory is the largest amount that the process used in all cases, including
the code of its libraries. The difference compares a contestant's results with
the results of the first contestant.
"""


def page(works: Sequence[Work], results: Mapping[str, Any]) -> str:
    """Returns the text of README.md for the works that were measured."""
    measured = [work for work in works if work.name in results]
    parts = [_INTRODUCTION, *_machines(measured, results)]
    parts += ["## Targets\n", target_table(measured, results)]
    for work in measured:
        result = results[work.name]
        parts += [f"## {work.title}\n", f"{work.note}\n"]
        parts += [work_table(work, result), *_remarks(work, result)]
    parts += ["## Versions\n", _versions(measured, results)]
    return "\n".join(parts)


def target_table(works: Sequence[Work], results: Mapping[str, Any]) -> str:
    """Returns a table with a row for each target that was measured."""
    rows = []
    for work in works:
        if work.name in results:
            for reached in reached_targets(work, results[work.name]):
                rows.append(
                    (
                        work.title,
                        reached.case,
                        reached.peer,
                        reached.ours,
                        f"{reached.ratio:.2f}",
                        f"{reached.target:g}",
                        "yes" if reached.is_reached else "**no**",
                    )
                )
    head = ("work", "case", "peer", "ours", "ratio", "target", "reached")
    return table(head, rows)


def work_table(work: Work, result: Mapping[str, Any]) -> str:
    """Returns a table with a row for each case and contestant."""
    if work.on_accelerator:
        return accelerator_table(work, result)
    rows = []
    head = ["case", "", f"time of one {work.unit}", "spread", "ratio", "memory"]
    differs = any(
        "difference" in values
        for figures in result["cases"].values()
        for values in figures.values()
    )
    if differs:
        head.append("difference")
    for case, figures in result["cases"].items():
        ours = fastest_of_ours(work, figures)
        for contestant in work.contestants:
            name = contestant.name
            if name not in figures:
                continue
            seconds = figures[name]["seconds"]
            memory = result["peak_memory"][name]
            row = [
                case,
                name,
                time(statistics.median(seconds)),
                f"{time(min(seconds))} to {time(max(seconds))}",
                f"{ratio(seconds, figures[ours]['seconds']):.2f}"
                if ours
                else "",
                f"{memory / 1e9:.2f} GB",
            ]
            if differs:
                row.append(number(figures[name].get("difference")))
            rows.append(row)
    return table(head, rows)


def _remarks(work, result):
    if (load := result.get("other_load") or 0) > _MUCH_LOAD:
        yield (
            f"**During this measurement, other processes took {load:.0%} of "
            "the cores' time, so these ratios mean little.**\n"
        )
    if work.on_accelerator:
        yield accelerator_remark(result)
        return
    speed = matrix_speed(result)
    if found := shares(result, speed):
        yield (
            f"The largest matrix product runs at {speed / 1e9:.0f} GFLOP/s. "
            "The share of this speed that the products of the work reach:\n"
        )
        cases = list(dict.fromkeys(case for case, _ in found))
        yield table(
            ("", *cases),
            [
                (
                    c.name,
                    *(
                        f"{found[case, c.name]:.0%}"
                        if (case, c.name) in found
                        else ""
                        for case in cases
                    ),
                )
                for c in work.contestants
                if any((case, c.name) in found for case in cases)
            ],
        )


def _machines(works, results):
    """Yields a line for each machine on which works were measured."""
    texts: dict[str, list[str]] = {}
    for work in works:
        texts.setdefault(describe(results[work.name]["machine"]), []).append(
            work.name
        )
    for text, names in texts.items():
        where = "" if len(texts) == 1 else f" ({', '.join(names)})"
        yield f"Measured on {text}{where}.\n"


def describe(machine: Mapping[str, Any]) -> str:
    """Returns the description of a machine, as a part of a sentence."""
    features = ", ".join(machine["features"]) or "no features that are known"
    cores = "core" if machine["num_cores"] == 1 else "cores"
    accelerator = machine.get("accelerator")
    beside = (
        f"one {accelerator['name']} with {accelerator['memory_gb']} GB and "
        f"driver {accelerator['driver']}, beside "
        if accelerator
        else ""
    )
    return (
        f"{beside}{machine['num_cores']} {cores} of {machine['processor']} "
        f"with {features}; {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}"
    )


def _versions(works, results):
    found = {
        f"{package} {version}"
        for work in works
        for versions in results[work.name]["versions"].values()
        for package, version in versions.items()
    }
    return ", ".join(sorted(found)) + "\n"
