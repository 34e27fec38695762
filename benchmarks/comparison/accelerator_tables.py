"""Results on an accelerator -> tables of speed, utilization and memory."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from comparison.markdown import number, table, time
from comparison.results import (
    fastest_of_ours,
    matrix_speed,
    ratio,
    shares,
)
from comparison.work import Work


def accelerator_table(work: Work, result: Mapping[str, Any]) -> str:
    """Returns a table with a row for each case and contestant.

    The seconds in the result are for one sequence.
    """
    of_product = shares(result, matrix_speed(result))
    of_peak = shares(result, _stated_peak(result))
    differs = any(
        "difference" in values
        for figures in result["cases"].values()
        for values in figures.values()
    )
    head = [
        "case",
        "",
        "batch",
        f"time of one {work.unit}",
        "sequences/s",
        "of the product",
        "of the peak",
        "ratio",
        "memory",
    ]
    rows = []
    for case, figures in result["cases"].items():
        ours = fastest_of_ours(work, figures)
        for name in (c.name for c in work.contestants if c.name in figures):
            values = figures[name]
            seconds = statistics.median(values["seconds"])
            row = [
                case,
                name,
                str(values["batch_size"]),
                time(seconds * values["batch_size"]),
                f"{1 / seconds:.0f}",
                _share(of_product.get((case, name))),
                _share(of_peak.get((case, name))),
                f"{ratio(values['seconds'], figures[ours]['seconds']):.2f}"
                if ours
                else "",
                _gigabytes(values["device_memory"]),
            ]
            if differs:
                row.append(number(values.get("difference")))
            rows.append(row)
    return table(head + ["difference"] * differs, rows)


def accelerator_remark(result: Mapping[str, Any]) -> str:
    """Returns a text about the speeds to which the table's shares refer."""
    speed, peak = matrix_speed(result), _stated_peak(result)
    text = (
        "The contestants took turns. The memory is what the case needs on the "
        "accelerator."
    )
    if speed:
        text += (
            " The largest product of bfloat16 matrices runs at "
            f"{speed / 1e12:.3g} TFLOP/s."
        )
    if peak:
        text += f" The maker states a peak of {peak / 1e12:.0f} TFLOP/s."
    return text + "\n"


def _stated_peak(result):
    accelerator = result["machine"].get("accelerator") or {}
    return accelerator.get("stated_peak")


def _share(value):
    return "" if value is None else f"{value:.0%}"


def _gigabytes(value):
    return "" if value is None else f"{value / 1e9:.2f} GB"
