"""A folder on a store -> a copy for libraries that read only local files."""

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
    return _whole(_kept, folder, names).path if is_remote(folder) else folder


@contextlib.contextmanager
def brief_copy(folder: Path) -> Iterator[Path]:
    """Yields what `local_copy` returns; a copy is removed after the block."""
    if not is_remote(folder):
        yield folder
        return
    copy = _whole(_copied, folder)
    try:
        yield copy.path
    finally:
        copy.remove()


def _whole(copied, folder, names=None) -> TemporaryFolder:
    names = None if names is None else tuple(names)
    while True:
        objects = _objects(folder, names)
        copy = copied(folder, objects)
        # Somebody may have replaced an object in the meantime.
        if _objects(folder, names) == objects:
            return copy


def _objects(folder: Any, names):
    """Returns each object with a text that changes when it is replaced."""
    if names is None:
        return tuple(file_states(folder).items())
    info = folder.fs.info
    return tuple((x, str(info(f"{folder.path}/{x}"))) for x in sorted(names))


def _copied(folder: Any, objects) -> TemporaryFolder:
    copy = TemporaryFolder()
    # Error messages then name the bucket and the folder.
    copy.path /= folder.path.lstrip("/")
    folder.fs.get(
        [f"{folder.path}/{name}" for name, _ in objects],
        [str(copy.path / name) for name, _ in objects],
    )
    return copy


_kept = functools.lru_cache(_MAX_COPIES)(_copied)
