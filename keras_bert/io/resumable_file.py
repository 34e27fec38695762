"""A file written in steps; if a run is killed, the next run continues it."""

import gzip
import shutil
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import (
    atomic_path,
    check_is_not_folder,
    read_json,
    remove,
    write_json,
)


class ResumableFile:
    """A file that appears under its name when it is complete.

    Until then, its parts are in a hidden folder beside it, one for each step.
    Text is compressed if the name of the file ends with .gz. The same steps
    write the same bytes, even if the process is killed between them.

    Attributes:
        folder: The hidden folder.
        state: The state that the last `append` saved, even in an earlier
            process; None before the first `append`.
    """

    def __init__(self, path: str | Path):
        """Raises IsADirectoryError if the path is a folder."""
        check_is_not_folder(path)
        self._path = to_path(path)
        self.folder = self._path.with_name(f".{self._path.name}.parts")
        self._progress = self.folder / "progress.json"
        self.state: dict[str, Any] | None = None
        self._num_parts = 0
        self._saved = self._read_progress()
        if self._saved:
            names = {path.name for path in self.folder.iterdir()}
            parts = {str(i) for i in range(self._saved["parts"])}
            if names >= parts:  # no other process has removed some
                self.state = self._saved["state"]
                self._num_parts = len(parts)

    def append(self, data: str | bytes, state: dict[str, Any]) -> None:
        """Writes a part, and the state from which the next process continues.

        If an error is raised or the process is killed, nothing is appended.

        Raises InputError if another process has written a part meanwhile.
        """
        self._check_is_alone()
        if isinstance(data, str):
            data = data.encode("utf-8", errors="backslashreplace")
            if self._path.suffix == ".gz":
                # Without a time stamp, the bytes depend only on the text.
                data = gzip.compress(data, mtime=0)
        with atomic_path(self.folder / str(self._num_parts)) as path:
            path.write_bytes(data)
        self._num_parts += 1
        self.state = state
        write_json(self._progress, {"parts": self._num_parts, "state": state})
        self._saved = self._read_progress()

    def finish(self, header: bytes = b"") -> None:
        """Writes the file from a header and the parts; replaces an old file."""
        if self.state is None:
            self.append("", {})
        self._check_is_alone()
        with atomic_path(self._path) as path, path.open("wb") as whole:
            whole.write(header)
            for number in range(self._num_parts):
                with (self.folder / str(number)).open("rb") as part:
                    shutil.copyfileobj(part, whole)
        # progress.json is removed first: without it, no run uses the parts.
        remove(self._progress)
        remove(self.folder)

    def _read_progress(self) -> dict[str, Any]:
        return read_json(self._progress, is_needed=False)

    def _check_is_alone(self) -> None:
        if self._read_progress() != self._saved:
            raise InputError(
                f"Another process is writing {self._path}; wait until it "
                "ends, and start each command only once."
            )
