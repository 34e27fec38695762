"""A folder on a store -> a copy for libraries that read only local files."""

from __future__ import annotations

import functools
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keras_bert.storage.paths import is_remote

# Bounds the disk. Whoever reads a copy has read it before the next ones come.
_MAX_COPIES = 4


class TemporaryFolder:
    """A local folder that is removed with this object, or with the process."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="keras_bert-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def local_copy(folder: Path, names: Iterable[str] | None = None) -> Path:
    """Returns a local folder with the files of `folder`; itself if it is local.

    `names` are the files to copy; by default all. A process copies the same
    objects once, and anew if they have changed. It keeps its last 4 copies,
    and they go when it ends: nothing is left to clean up, and another process
    never sees half of a copy.
    """
    if not is_remote(folder):
        return folder
    names = None if names is None else tuple(names)
    while True:
        objects = _objects(folder, names)
        copy = _copy(folder, objects)
        # Somebody may have replaced an object in the meantime.
        if _objects(folder, names) == objects:
            return copy.path / _inner(folder)


def _objects(folder: Any, names):
    """Returns the objects, each with what changes when it is replaced."""
    if names is None:
        found = folder.fs.find(folder.path, detail=True)
    else:
        paths = [f"{folder.path}/{name}" for name in names]
        found = {path: folder.fs.info(path) for path in paths}
    return tuple((path, str(info)) for path, info in sorted(found.items()))


@functools.lru_cache(_MAX_COPIES)
def _copy(folder: Any, objects) -> TemporaryFolder:
    copy = TemporaryFolder()
    start = len(folder.path)
    sources = [path for path, _ in objects]
    targets = [
        str(copy.path / _inner(folder) / path[start:].lstrip("/"))
        for path in sources
    ]
    folder.fs.get(sources, targets)
    return copy


def _inner(folder):
    # Error messages then name the bucket and the folder.
    return folder.path.lstrip("/")
