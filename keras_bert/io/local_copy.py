"""A folder on a store -> a copy for libraries that read only local files."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.io.folders import file_states
from keras_bert.io.paths import is_remote

# Bounds the disk. Whoever reads a copy has read it before the next ones come.
_MAX_COPIES = 4


class TemporaryFolder:
    """A local folder that is removed with this object, or with the process."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="keras_bert-"))
        self.remove = weakref.finalize(
            self, shutil.rmtree, self.path, ignore_errors=True
        )


def local_copy(folder: Path, names: Iterable[str] | None = None) -> Path:
    """Returns a local folder with the files of `folder`; itself if it is local.

    `names` are the files to copy; by default all. A process copies the same
    objects once, and anew if they have changed. It keeps its last 4 copies,
    and they go when it ends: nothing is left to clean up, and another process
    never sees half of a copy.
    """
    if not is_remote(folder):
        return folder
    return _inside(_whole_copy(_kept, folder, names), folder)


@contextlib.contextmanager
def brief_copy(folder: Path) -> Iterator[Path]:
    """Yields what `local_copy` returns; a copy is removed after the block."""
    if not is_remote(folder):
        yield folder
        return
    copy = _whole_copy(_copied, folder)
    try:
        yield _inside(copy, folder)
    finally:
        copy.remove()


def _whole_copy(copied, folder, names=None) -> TemporaryFolder:
    names = None if names is None else tuple(names)
    while True:
        objects = _objects(folder, names)
        copy = copied(folder, objects)
        # Somebody may have replaced an object in the meantime.
        if _objects(folder, names) == objects:
            return copy


def _objects(folder: Any, names):
    """Returns the objects, each with what changes when it is replaced."""
    if names is None:
        return tuple(file_states(folder).items())
    paths = {name: f"{folder.path}/{name}" for name in sorted(names)}
    return tuple((name, str(folder.fs.info(x))) for name, x in paths.items())


def _copied(folder: Any, objects) -> TemporaryFolder:
    copy = TemporaryFolder()
    names = [name for name, _ in objects]
    folder.fs.get(
        [f"{folder.path}/{name}" for name in names],
        [str(_inside(copy, folder) / name) for name in names],
    )
    return copy


_kept = functools.lru_cache(_MAX_COPIES)(_copied)


def _inside(copy, folder):
    # Error messages then name the bucket and the folder.
    return copy.path / folder.path.lstrip("/")
