"""What is said at the end of a run."""

from __future__ import annotations

import statistics

_SPEEDS = {
    "sequences_per_second": "{:,.1f} sequences/s",
    "tokens_per_second": "{:,.0f} tokens/s",
    "utilization_of_matmul_speed": (
        "{:.1%} of the speed of a matrix product on this device"
    ),
}


def describe_run(
    rows: list[dict[str, float]], metric: str | None = None
) -> str:
    """Rows of a history -> time, speed, the last figures and the best.

    The speeds are medians of the intervals. The best figures are those of the
    step with the highest held-out `metric`, or, without one, with the lowest
    held-out loss, where there is such a loss.
    """
    last = rows[-1]
    speeds = [
        text.format(statistics.median(r[name] for r in rows if name in r))
        for name, text in _SPEEDS.items()
    ]
    lines = [
        f"Trained to step {last['step']} in {last['minutes']:.1f} minutes: "
        + ", ".join(speeds)
    ]
    for kind, row in (("last", last), ("best", _best(rows, metric))):
        if figures := row and _held_out(row):
            lines.append(f"Held out, {kind}, step {row['step']}: {figures}")
    return "\n".join(lines)


def _best(rows, metric):
    name, sign = (f"val_{metric}", -1) if metric else ("val_loss", 1)
    compared = [row for row in rows if name in row]
    return min(compared, key=lambda row: sign * row[name], default=None)


def _held_out(row):
    return ", ".join(
        f"{name.removeprefix('val_').replace('_', ' ')} {value:.4g}"
        for name, value in row.items()
        if name.startswith("val_")
    )
