"""Results -> pictures of ratios, growth and utilization."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from comparison.results import matrix_speed, reached_targets, shares
from comparison.work import Work

_REACHED, _NOT_REACHED = "tab:blue", "tab:orange"


def draw(
    works: Sequence[Work], results: Mapping[str, Any], folder: Path
) -> None:
    """Draws the targets, the growth curves, and the use of an accelerator.

    The files are `ratios.png`, `growth.png` and `utilization.png`. A picture
    without measurements is not drawn.
    """
    matplotlib.use("agg")
    measured = [work for work in works if work.name in results]
    _draw_ratios(measured, results, folder / "ratios.png")
    curves = [work for work in measured if work.grows]
    if curves:
        _draw_growth(curves, results, folder / "growth.png")
    works = [work for work in measured if work.on_accelerator and work.targets]
    if works:
        _draw_utilization(works, results, folder / "utilization.png")


def _draw_ratios(works, results, file):
    from matplotlib import pyplot

    labels, rows = [], []
    for work in works:
        for reached in reached_targets(work, results[work.name]):
            case = f", {reached.case}" if len(work.cases) > 1 else ""
            labels.append(f"{work.title}{case}: {reached.peer}")
            rows.append(reached)
    if not rows:
        return
    figure, axes = pyplot.subplots(
        figsize=(8, 1 + 0.22 * len(rows)), layout="constrained"
    )
    for is_reached, color in ((True, _REACHED), (False, _NOT_REACHED)):
        places = [i for i, x in enumerate(rows) if x.is_reached == is_reached]
        axes.barh(
            places,
            [rows[i].ratio - 1 for i in places],
            left=1,  # a bar to the right: ours is faster
            color=color,
            label="reached" if is_reached else "not reached",
        )
    places = range(len(rows))
    for i, reached in enumerate(rows):
        end = max(reached.ratio, reached.target, 1.0)
        text = f"  {reached.ratio:.2f}"
        axes.text(end, i, text, va="center", fontsize=7)
    axes.scatter(
        [reached.target for reached in rows],
        places,
        marker="|",
        s=90,
        color="black",
        label="target",
        zorder=3,
    )
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_yticks(places, labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.1, y=0.01)
    axes.set_xlabel("time of the peer / time of keras_bert")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=8)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _draw_growth(works, results, file):
    from matplotlib import pyplot

    figure, all_axes = pyplot.subplots(
        ncols=len(works),
        figsize=(3 * len(works), 3),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for axes, work in zip(all_axes[0], works, strict=True):
        cases = results[work.name]["cases"]
        places = range(len(cases))
        for contestant in work.contestants:
            times = [
                _median(figures.get(contestant.name))
                for figures in cases.values()
            ]
            axes.plot(places, times, marker=".", label=contestant.name)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xticks(places, cases, fontsize=8)
        axes.set_xlabel(work.grows)
        axes.grid(axis="y", color="lightgray", linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0, 0].set_ylabel("milliseconds")
    figure.legend(
        *all_axes[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(works[0].contestants),
        frameon=False,
    )
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _draw_utilization(works, results, file):
    from matplotlib import pyplot

    rows = [(work, case) for work in works for case in work.cases]
    figure, axes = pyplot.subplots(
        figsize=(8, 1 + 0.35 * len(rows)), layout="constrained"
    )
    # All these works have the same contestants.
    names = [contestant.name for contestant in works[0].contestants]
    height = 0.8 / len(names)
    for i, name in enumerate(names):
        found = [
            shares(results[work.name], matrix_speed(results[work.name])).get(
                (case, name), 0.0
            )
            for work, case in rows
        ]
        places = [row + i * height for row in range(len(rows))]
        bars = axes.barh(places, [100 * x for x in found], height, label=name)
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=2)
    axes.set_yticks(
        [row + 0.4 - height / 2 for row in range(len(rows))],
        [f"{work.title}, {case}" for work, case in rows],
        fontsize=7,
    )
    axes.invert_yaxis()
    axes.set_xlabel("% of the speed of the largest matrix product")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=len(names), frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _median(figures):
    """Returns the median in milliseconds; NaN if the contestant failed."""
    if not figures:
        return float("nan")
    return 1e3 * statistics.median(figures["seconds"])
