"""Folders on a store: complete, or else marked incomplete; and local copies.

A store cannot rename a folder. So the first object that is written to a folder,
and the last that is deleted from it, is `_PARTIAL`. A folder with this object
is incomplete: a process is writing to it, or was killed. Any other folder, such
as a folder that another tool copied to the store, counts as complete.
"""

import contextlib
import functools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.io.paths import is_remote

# The names of objects, each with a string that changes when the object changes.
Objects = tuple[tuple[str, str], ...]

MARKER = "_PARTIAL"
# The number of copies that are kept, to limit disk space. It can be small,
# because each copy is read before the next copies are made.
_MAX_COPIES = 4
_TEXT = (
    b"This folder is incomplete: a process is writing to it, or was killed. "
    b"Run its command again, or delete the folder.\n"
)


def list_names(folder: Any) -> list[str]:
    """Returns the names of a folder's files and folders; [] for no folder.

    On a store, this takes one request.
    """
    try:
        if is_remote(folder):
            paths = folder.fs.ls(folder.path, detail=False)
            return [path.rstrip("/").rpartition("/")[2] for path in paths]
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def file_states(folder: Any) -> dict[str, str]:
    """Returns the state of each file in a folder, keyed by its relative path.

    A state is a string that changes when the file changes. Files in subfolders
    are included. On a store, this takes one request.
    """
    if is_remote(folder):
        start = len(folder.path)
        infos = folder.fs.find(folder.path, detail=True)
        return {path[start + 1 :]: str(x) for path, x in sorted(infos.items())}
    stats = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {
        path.relative_to(folder).as_posix(): str(
            # A copy can keep the mtime of a file, but not its ctime.
            (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        )
        for path, stat in stats.items()
    }


def claim_folder(folder: Any) -> bool:
    """Marks a new folder as incomplete; returns False if the folder exists.

    If several processes claim the folder, only one gets True, provided that the
    store can refuse to replace an existing object.
    """
    if folder.exists():
        return False
    try:
        folder.fs.pipe_file((folder / MARKER).path, _TEXT, mode="create")
    except FileExistsError:
        return False
    return True


def upload_folder(local: Path, folder: Any) -> None:
    """Replaces a folder on a store with the files of a local folder."""
    files = [path for path in local.rglob("*") if path.is_file()]
    with marked_incomplete(folder):
        folder.fs.put(
            [str(file) for file in files],
            [f"{folder.path}/{x.relative_to(local).as_posix()}" for x in files],
        )


def copy_folder(source: Any, folder: Any) -> None:
    """Replaces a folder on a store with a copy of another folder there."""
    paths = source.fs.find(source.path)
    start = len(source.path)
    with marked_incomplete(folder):
        source.fs.copy(paths, [folder.path + path[start:] for path in paths])


@contextlib.contextmanager
def marked_incomplete(folder: Any) -> Iterator[None]:
    """Empties a folder; marks it incomplete until the block has filled it."""
    marker = (folder / MARKER).path
    folder.fs.pipe_file(marker, _TEXT)
    old = [path for path in folder.fs.find(folder.path) if path != marker]
    if old:
        folder.fs.rm(old)
    yield
    folder.fs.rm_file(marker)


class TemporaryFolder:
    """A local folder that is removed when this object or the process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="keras_bert-"))
        self.remove = weakref.finalize(
            self, shutil.rmtree, self.path, ignore_errors=True
        )


def local_copy(folder: Path, names: Iterable[str] | None = None) -> Path:
    """Returns `folder` itself if it is local, or else a local copy of it.

    `names` are the files to copy, by default all. A process copies the same
    objects only once, unless they change. The process keeps its last 4 copies,
    and deletes them when it ends. No other process reads these copies.
    """
    return _whole(_kept, folder, names).path if is_remote(folder) else folder


@contextlib.contextmanager
def brief_copy(folder: Path) -> Iterator[Path]:
    """Like `local_copy`, but removes the copy when the `with` block ends."""
    if not is_remote(folder):
        yield folder
        return
    copy = _whole(_copied, folder)
    try:
        yield copy.path
    finally:
        copy.remove()


def _whole(
    copied: Callable[[Path, Objects], TemporaryFolder],
    folder: Path,
    names: Iterable[str] | None = None,
) -> TemporaryFolder:
    names = None if names is None else tuple(names)
    while True:
        objects = _objects(folder, names)
        copy = copied(folder, objects)
        # Another process may have replaced an object in the meantime.
        if _objects(folder, names) == objects:
            return copy


def _objects(folder: Any, names: tuple[str, ...] | None) -> Objects:
    if names is None:
        return tuple(file_states(folder).items())
    info = folder.fs.info
    return tuple((x, str(info(f"{folder.path}/{x}"))) for x in sorted(names))


def _copied(folder: Any, objects: Objects) -> TemporaryFolder:
    copy = TemporaryFolder()
    # With this path, error messages name the bucket and the folder.
    copy.path /= folder.path.lstrip("/")
    folder.fs.get(
        [f"{folder.path}/{name}" for name, _ in objects],
        [str(copy.path / name) for name, _ in objects],
    )
    return copy


_kept = functools.lru_cache(_MAX_COPIES)(_copied)
