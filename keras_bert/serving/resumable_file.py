"""A file that is written in steps; after a kill, the next run continues it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

from keras_bert.files import check_is_not_folder, write_json


class ResumableFile:
    """A file that appears under its name when it is whole.

    Until then it grows in a hidden folder beside it. A file whose name ends
    with .gz is compressed. The same steps write the same bytes, whether or
    not a kill is between them.

    Attributes:
        folder: The hidden folder.
        state: What the last `append` was given, even by an earlier process;
            None at the start.
    """

    def __init__(self, path: str | Path):
        """Raises IsADirectoryError if a folder is in the place of the file."""
        check_is_not_folder(path)
        self._path = Path(path)
        self.folder = self._path.with_name(f".{self._path.name}.partial")
        self._content = self.folder / "content"
        self._progress = self.folder / "progress.json"
        self.state: dict[str, Any] | None = None
        self._size = 0
        if self._content.exists() and self._progress.exists():
            progress = json.loads(self._progress.read_bytes())
            self.state, self._size = progress["state"], progress["size"]

    def append(self, text: str, state: dict[str, Any]) -> None:
        """Writes text, and what the next process needs to continue behind it.

        If this raises or the process is killed, the file is as it was before.
        """
        data = text.encode("utf-8", errors="backslashreplace")
        if self._path.suffix == ".gz":
            # Without a time: the bytes depend on the text only.
            data = gzip.compress(data, mtime=0)
        if self.state is None:  # drops what was not enough to continue
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._content.open("ab") as file:
            file.truncate(self._size)  # what a killed process wrote after it
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(data)
        self.state = state
        write_json(self._progress, {"size": self._size, "state": state})

    def finish(self) -> None:
        """Moves the file to its name, and replaces what was there."""
        if self.state is None:
            self.append("", {})
        self._content.replace(self._path)
        shutil.rmtree(self.folder)
