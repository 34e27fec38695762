"""What the log says about a row of the history and about a whole run."""

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
    """Describes time, speed, the last held-out figures and the best ones.

    The speeds are medians over the intervals. The best figures are those of
    the step with the highest held-out `metric` or, if that is None, with the
    lowest held-out loss.
    """
    last = rows[-1]
    parts = [f"Trained to step {last['step']} in {last['minutes']:.1f} minutes"]
    for name, text in _SPEEDS.items():
        if values := [row[name] for row in rows if name in row]:
            parts.append(text.format(statistics.median(values)))
    lines = [", ".join(parts).replace("minutes, ", "minutes: ", 1)]
    for kind, row in (("last", last), ("best", _best(rows, metric))):
        if figures := row and held_out_figures(row):
            lines.append(f"Held out, {kind}, step {row['step']}: {figures}")
    return "\n".join(lines)


def held_out_figures(row: dict[str, float]) -> str:
    """Lists the held-out figures of a row: "loss 0.51, accuracy 0.875"."""
    return ", ".join(
        f"{name.removeprefix('val_').replace('_', ' ')} {value:.4g}"
        for name, value in row.items()
        if name.startswith("val_")
    )


def _best(rows, metric):
    name, sign = (f"val_{metric}", -1) if metric else ("val_loss", 1)
    compared = [row for row in rows if name in row]
    return min(compared, key=lambda row: sign * row[name], default=None)
