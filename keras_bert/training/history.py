"""The figures of a run: a table, a picture, event files, lines in the log."""

from __future__ import annotations

import csv
import shutil
import statistics
from pathlib import Path

import tensorflow as tf

from keras_bert.io.local_copy import TemporaryFolder
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, full_disk_named

Row = dict[str, float]
_HELD_OUT = "val_"
_SPEEDS = {
    "sequences_per_second": "{:,.1f} sequences/s",
    "tokens_per_second": "{:,.0f} tokens/s",
    "utilization_of_matmul_speed": (
        "{:.1%} of the speed of a matrix product on this device"
    ),
}


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
        is_evaluated = any(name.startswith(_HELD_OUT) for name in row)
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
        self._events.write(self.rows)
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
        names = [n for n in names if _HELD_OUT + n in names] or ["loss"]
        figure = Figure(figsize=(4.5 * len(names), 3.5), layout="constrained")
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for key, label, size in (
                (name, "training", 3),
                (_HELD_OUT + name, "held out", 7),
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


class EventFiles:
    """Rows of figures for TensorBoard, in folders `train` and `validation`.

    Training and held-out figures share a chart.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._temporary = TemporaryFolder() if is_remote(folder) else None
        self._writers: list[tf.summary.SummaryWriter] | None = None
        self._num_written = 0

    def write(self, rows: list[Row]) -> None:
        """Writes the rows that this object has not written before.

        The first call removes the files of an earlier run, which may hold
        steps that are taken again.

        Raises OSError if the disk is full.
        """
        local = self._temporary.path if self._temporary else self._folder
        with full_disk_named(self._folder, tf.errors.OpError):
            if self._writers is None:
                for old in self._folder.glob("*/events.out.tfevents.*"):
                    old.unlink()
                self._writers = [
                    tf.summary.create_file_writer(str(local / name))
                    for name in ("train", "validation")
                ]
            for row in rows[self._num_written :]:
                for name, value in row.items():
                    writer = self._writers[name.startswith(_HELD_OUT)]
                    with writer.as_default(row["step"]):
                        tf.summary.scalar(name.removeprefix(_HELD_OUT), value)
            for writer in self._writers:
                writer.flush()
            self._num_written = len(rows)
            if self._temporary:
                for file in local.glob("*/*"):
                    target = self._folder / file.relative_to(local).as_posix()
                    with atomic_path(target) as path:
                        shutil.copyfile(file, path)


def describe_run(rows: list[Row], metric: str | None = None) -> str:
    """Describes time, speed, the last held-out figures and the best ones.

    The speeds are medians over the intervals. The best figures are those of
    the step with the highest held-out `metric` or, if that is None, with the
    lowest held-out loss.
    """
    last = rows[-1]
    speeds = [
        text.format(statistics.median(values))
        for name, text in _SPEEDS.items()
        if (values := [row[name] for row in rows if name in row])
    ]
    line = f"Trained to step {last['step']} in {last['minutes']:.1f} minutes"
    lines = [": ".join([line, ", ".join(speeds)] if speeds else [line])]
    name, sign = (f"val_{metric}", -1) if metric else ("val_loss", 1)
    compared = [row for row in rows if name in row]
    best = min(compared, key=lambda row: sign * row[name], default={})
    for kind, row in (("last", last), ("best", best)):
        if figures := held_out_figures(row):
            lines.append(f"Held out, {kind}, step {row['step']}: {figures}")
    return "\n".join(lines)


def held_out_figures(row: Row) -> str:
    """Lists the held-out figures of a row: "loss 0.51, accuracy 0.875"."""
    return ", ".join(
        f"{name.removeprefix(_HELD_OUT).replace('_', ' ')} {value:.4g}"
        for name, value in row.items()
        if name.startswith(_HELD_OUT)
    )
