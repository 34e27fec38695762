"""The metrics of a run: a table, and files for TensorBoard."""

import csv
import shutil
from pathlib import Path

import tensorflow as tf

from keras_bert.io.folders import TemporaryFolder
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, full_disk_named

Row = dict[str, float]
# The prefix of metrics that are measured on held-out data.
HELD_OUT = "val_"


class History:
    """Rows of metrics by step.

    The files are `history.csv` and, for TensorBoard, `tensorboard/`. An empty
    cell of the table is a metric that was not measured at that step.
    """

    def __init__(self, output_dir: Path, last_step: int):
        """Reads the rows of an earlier run up to `last_step`, if there are any.

        Later rows belong to steps that will be taken again.
        """
        self._last_step = last_step
        self._csv = output_dir / "history.csv"
        self._board = output_dir / "tensorboard"
        # TensorFlow writes its files here, to be copied to a remote output_dir.
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
        """The last row; without rows, a row with only the step `last_step`."""
        return self.rows[-1] if self.rows else {"step": self._last_step}

    def add(self, row: Row) -> None:
        """Adds a row, or merges it into the last row if the steps are equal."""
        if self.rows and self.rows[-1]["step"] == row["step"]:
            self.rows[-1] |= row
        else:
            self.rows.append(row)

    def write_table(self) -> None:
        """Writes the whole table; a resumed run reads the rows from it."""
        with atomic_path(self._csv) as path, path.open("w", newline="") as file:
            names = dict.fromkeys(name for row in self.rows for name in row)
            writer = csv.DictWriter(file, list(names))
            writer.writeheader()
            writer.writerows(self.rows)

    def write_events(self) -> None:
        """Writes the new rows for TensorBoard; they must not change afterwards.

        The training and held-out values of a metric share a chart. The first
        call removes earlier files, which may contain steps that are taken
        again.
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
