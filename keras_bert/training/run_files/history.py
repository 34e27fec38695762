"""The figures of a run: a table, a picture, and the same for TensorBoard."""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.figure import Figure

from keras_bert.files import atomic_path
from keras_bert.training.run_files.event_files import EventFiles


class History:
    """Rows of figures by step, in files that are whole after each row.

    These are `history.csv`, `curves.png` and, for TensorBoard, `tensorboard/`.
    """

    def __init__(self, output_dir: Path, last_step: int):
        """Goes on behind the rows up to `last_step`, where there are some."""
        self._last_step = last_step
        self._csv = output_dir / "history.csv"
        self._png = output_dir / "curves.png"
        self._events = EventFiles(output_dir / "tensorboard")
        self.rows: list[dict[str, float]] = []
        if last_step and self._csv.is_file():
            with self._csv.open(newline="") as file:
                rows = [
                    {k: float(v) for k, v in row.items() if v}
                    for row in csv.DictReader(file)
                ]
            for row in rows:
                row["step"] = int(row["step"])
            self.rows = [row for row in rows if row["step"] <= last_step]

    @property
    def last(self) -> dict[str, float]:
        """The last row; where the file of an earlier run is gone, its step."""
        return self.rows[-1] if self.rows else {"step": self._last_step}

    def add(self, row: dict[str, float], *, write: bool = True) -> None:
        """Adds a row, which has a `step`, and writes the files anew."""
        self.rows.append(row)
        if not write:
            return
        names = list(dict.fromkeys(name for r in self.rows for name in r))
        with atomic_path(self._csv) as path, path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(self.rows)
        self._events.write(self.rows)
        self._plot([name for name in names if f"val_{name}" in names])

    def _plot(self, compared):
        """One panel a figure that was taken on held-out data too."""
        compared = compared or ["loss"]
        figure = Figure(
            figsize=(4.5 * len(compared), 3.5), layout="constrained"
        )
        for axes, name in zip(
            figure.subplots(1, len(compared), squeeze=False)[0],
            compared,
            strict=True,
        ):
            for key, label in ((name, "training"), (f"val_{name}", "held out")):
                points = [(r["step"], r[key]) for r in self.rows if key in r]
                if points:
                    axes.plot(*zip(*points, strict=True), ".-", label=label)
            if name.endswith("perplexity"):
                axes.set_yscale("log")  # it falls by orders of magnitude
            axes.set(title=name.replace("_", " "), xlabel="step")
            axes.grid(alpha=0.3)
            axes.legend()
        with atomic_path(self._png) as path:
            figure.savefig(path, format="png", dpi=120)
