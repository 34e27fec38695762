"""The results as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from comparison.results import reached_targets
from comparison.work import Work

_OURS = "tab:blue"
_NOT_REACHED = "tab:orange"


def draw(
    works: Sequence[Work], results: Mapping[str, Any], folder: Path
) -> None:
    """Draws the ratios of all targets, `ratios.png`."""
    matplotlib.use("agg")
    _draw_ratios(works, results, folder / "ratios.png")


def _draw_ratios(works, results, file):
    from matplotlib import pyplot

    rows = [
        (f"{work.title}, {reached.case}", reached)
        for work in works
        if work.name in results
        for reached in reached_targets(work, results[work.name])
    ]
    if not rows:
        return
    figure, axes = pyplot.subplots(
        figsize=(8, 1 + 0.24 * len(rows)), layout="constrained"
    )
    places = range(len(rows))
    axes.barh(
        places,
        [reached.ratio for _, reached in rows],
        color=[_OURS if x.is_reached else _NOT_REACHED for _, x in rows],
    )
    axes.scatter(
        [reached.target for _, reached in rows],
        places,
        marker="|",
        s=120,
        color="black",
        label="target",
        zorder=3,
    )
    axes.axvline(1, color="gray", linewidth=0.8)
    labels = [f"{text}: {reached.peer}" for text, reached in rows]
    axes.set_yticks(places, labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("time of the peer / time of keras_bert")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
