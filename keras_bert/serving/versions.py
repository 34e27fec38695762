"""The versions of a model: folders whose names are numbers, such as `served/1`.

A server serves the highest one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path


@dataclasses.dataclass
class NewVersion:
    """A version that is being written.

    Attributes:
        path: Its folder; in the end the final one.
    """

    path: Path


@contextlib.contextmanager
def new_version(model_dir: str | Path) -> Iterator[NewVersion]:
    """Yields a folder to fill, which becomes the next free version.

    Other processes may write versions at the same time. If the block raises,
    the folder is removed. A killed process leaves a folder `.partial-*`, which
    no server takes for a version.
    """
    model_dir = Path(model_dir)
    model_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=model_dir) as path:
        version = NewVersion(Path(path, "version"))
        version.path.mkdir()
        yield version
        number = max(find_versions(model_dir), default=0) + 1
        while not _rename(version.path, model_dir / str(number)):
            number += 1
        version.path = model_dir / str(number)


def find_versions(model_dir: str | Path) -> dict[int, Path]:
    """Returns the folders of the whole versions of a model, by number."""
    return {
        int(path.name): path
        for path in Path(model_dir).glob("[0-9]*")
        if path.name.isdecimal() and (path / "saved_model.pb").is_file()
    }


def _rename(source, target):
    """Returns whether the name was free."""
    if target.exists():
        return False
    try:
        source.rename(target)
    except OSError:  # another process was faster
        if target.exists():
            return False
        raise
    return True
