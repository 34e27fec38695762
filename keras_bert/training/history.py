"""The figures of a run: a table, a picture and files for TensorBoard."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import tensorflow as tf

from keras_bert.io.local_copy import TemporaryFolder
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, full_disk_named

Row = dict[str, float]
# Begins the names of figures that are measured on held-out data.
HELD_OUT = "val_"


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
        self._board = output_dir / "tensorboard"
        # TensorFlow writes its files here.
        self._copied = TemporaryFolder() if is_remote(output_dir) else None
        self._writers: list[tf.summary.SummaryWriter] | None = None
        self._num_written = 0
        self.rows: list[Row] = []
        if last_step and self._csv.is_file():
            with self._csv.open(newline="") as file:
                for cells in csv.DictReader(file):
                    row = {k: float(v) for k, v in cells.items() if v}
                    row["step"] = int(row["step"])
                    if row["step"] <= last_step:
                        self.rows.append(row)

    @property
    def last(self) -> Row:
        """The last row; only its step if the table of the run is missing."""
        return self.rows[-1] if self.rows else {"step": self._last_step}

    @property
    def lacks_held_out_figures(self) -> bool:
        """Whether the last row is that of `last_step`, without evaluation."""
        row = self.rows[-1] if self.rows else {}
        is_evaluated = any(name.startswith(HELD_OUT) for name in row)
        return row.get("step") == self._last_step and not is_evaluated

    def add(self, row: Row) -> None:
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
        self._write_events()
        self._plot()

    def write_table(self) -> None:
        """Writes the table alone, from which a resumed run takes the rows."""
        with atomic_path(self._csv) as path, path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._names())
            writer.writeheader()
            writer.writerows(self.rows)

    def _names(self):
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def _plot(self):
        """Draws a panel for each figure that held-out data have too."""
        from matplotlib.figure import Figure

        names = self._names()
        names = [n for n in names if HELD_OUT + n in names] or ["loss"]
        figure = Figure(figsize=(4.5 * len(names), 3.5), layout="constrained")
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for key, label, size in (
                (name, "training", 3),
                (HELD_OUT + name, "held out", 7),
            ):
                points = [(r["step"], r[key]) for r in self.rows if key in r]
                if points:
                    axes.plot(
                        *zip(*points, strict=True),
                        marker=".",
                        markersize=size,
                        label=label,
                    )
            if name.endswith("perplexity"):
                axes.set_yscale("log")  # it falls by orders of magnitude
            axes.set(title=name.replace("_", " "), xlabel="step")
            axes.grid(alpha=0.3)
            axes.legend()
        with atomic_path(self._png) as path:
            figure.savefig(path, format="png", dpi=120)

    def _write_events(self):
        """Writes the new rows for TensorBoard.

        Training and held-out figures share a chart. The first call removes the
        files of an earlier run, which may hold steps that are taken again.
        """
        local = self._copied.path if self._copied else self._board
        with full_disk_named(self._board, tf.errors.OpError):
            if self._writers is None:
                for old in self._board.glob("*/events.out.tfevents.*"):
                    old.unlink()
                self._writers = [
                    tf.summary.create_file_writer(str(local / name))
                    for name in ("train", "validation")
                ]
            for row in self.rows[self._num_written :]:
                for name, value in row.items():
                    writer = self._writers[name.startswith(HELD_OUT)]
                    with writer.as_default(row["step"]):
                        tf.summary.scalar(name.removeprefix(HELD_OUT), value)
            for writer in self._writers:
                writer.flush()
        self._num_written = len(self.rows)
        if self._copied:
            for file in local.glob("*/*"):
                target = self._board / file.relative_to(local).as_posix()
                with atomic_path(target) as path:
                    shutil.copyfile(file, path)
