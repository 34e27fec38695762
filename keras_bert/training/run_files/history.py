"""The figures of a run: a table, a picture, and the same for TensorBoard."""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.figure import Figure

from keras_bert.io.whole_files import atomic_path
from keras_bert.training.run_files.event_files import EventFiles


class History:
    """Rows of figures by step.

    The files are `history.csv`, `curves.png` and, for TensorBoard,
    `tensorboard/`. An empty cell of the table is a figure that was not taken
    at that step.
    """

    def __init__(self, output_dir: Path, last_step: int):
        """Reads the rows of an earlier run up to `last_step`, if there are any.

        Later rows belong to steps that will be taken again.
        """
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
        """The last row; only its step if the table of the run is missing."""
        return self.rows[-1] if self.rows else {"step": self._last_step}

    @property
    def lacks_held_out_figures(self) -> bool:
        """Whether the last row is that of `last_step`, without evaluation."""
        row = self.rows[-1] if self.rows else {}
        is_evaluated = any(name.startswith("val_") for name in row)
        return row.get("step") == self._last_step and not is_evaluated

    def add(self, row: dict[str, float]) -> None:
        """Adds a row, or adds its figures to the last row if that has its step.

        `write` writes the files.
        """
        if self.rows and self.rows[-1]["step"] == row["step"]:
            self.rows[-1] |= row
        else:
            self.rows.append(row)

    def write(self) -> None:
        """Writes all files anew; no row that was written may change."""
        self.write_table()
        self._events.write(self.rows)
        names = self._names()
        self._plot([name for name in names if f"val_{name}" in names])

    def write_table(self) -> None:
        """Writes the table alone, from which a resumed run takes the rows."""
        with atomic_path(self._csv) as path, path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._names())
            writer.writeheader()
            writer.writerows(self.rows)

    def _names(self):
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def _plot(self, compared):
        """Draws a panel for each figure that held-out data have too."""
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
                    axes.plot(
                        *zip(*points, strict=True),
                        marker=".",
                        markersize=3 if key == name else 7,
                        label=label,
                    )
            if name.endswith("perplexity"):
                axes.set_yscale("log")  # it falls by orders of magnitude
            axes.set(title=name.replace("_", " "), xlabel="step")
            axes.grid(alpha=0.3)
            axes.legend()
        with atomic_path(self._png) as path:
            figure.savefig(path, format="png", dpi=120)
