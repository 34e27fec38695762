"""Figures for TensorBoard; training and held-out ones share a chart."""

from __future__ import annotations

import shutil
from pathlib import Path

import tensorflow as tf

from keras_bert.io.local_copy import TemporaryFolder
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, full_disk_named

_HELD_OUT = "val_"


class EventFiles:
    """Event files of rows of figures, in folders `train` and `validation`."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._temporary = TemporaryFolder() if is_remote(folder) else None
        self._writers = None
        self._num_written = 0

    def write(self, rows: list[dict[str, float]]) -> None:
        """Writes the rows that this object has not written before.

        The first call removes the files of an earlier run, which may hold
        steps that are taken again.

        Raises OSError if the disk is full.
        """
        with full_disk_named(self._folder, tf.errors.OpError):
            self._write(rows)

    def _write(self, rows):
        local = self._temporary.path if self._temporary else self._folder
        if self._writers is None:
            for old in self._folder.glob("*/events.out.tfevents.*"):
                old.unlink()
            self._writers = {
                name: tf.summary.create_file_writer(str(local / name))
                for name in ("train", "validation")
            }
        for row in rows[self._num_written :]:
            for name, value in row.items():
                is_held_out = name.startswith(_HELD_OUT)
                folder = "validation" if is_held_out else "train"
                with self._writers[folder].as_default():
                    tf.summary.scalar(
                        name.removeprefix(_HELD_OUT), value, row["step"]
                    )
        for writer in self._writers.values():
            writer.flush()
        self._num_written = len(rows)
        if self._temporary:
            for file in local.glob("*/*"):
                target = self._folder / file.relative_to(local).as_posix()
                with atomic_path(target) as path:
                    shutil.copyfile(file, path)
