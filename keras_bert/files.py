"""Files and folders that appear under their name only when they are whole."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yields a path beside `path` to write a file or make a folder at.

    When the block ends, what was written is renamed to `path`, in place of
    what stood there; when it raises, it is removed and `path` is as before.
    What a killed process left is removed by the next one that writes `path`.

    Raises IsADirectoryError where a file would take the place of a folder.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    _remove(partial)
    try:
        yield partial
        if not partial.is_dir():
            check_is_no_folder(path)
        elif path.is_dir():
            _remove(path)  # a folder is never renamed over a full one
        partial.replace(path)
    finally:
        _remove(partial)


def check_is_no_folder(path: str | Path) -> None:
    """Raises IsADirectoryError where a folder stands in a file's place."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")


@contextlib.contextmanager
def full_disk_named(
    path: str | Path, error_type: type[Exception]
) -> Iterator[None]:
    """Turns a library's own error of a full disk into an OSError."""
    try:
        yield
    except error_type as error:
        reason = str(error).splitlines()[0]
        raise OSError(
            f"Cannot write {path} ({reason}); make room, and give the same "
            "command again."
        ) from error


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
