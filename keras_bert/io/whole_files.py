"""Files and folders that appear under their name only when complete."""

import contextlib
import json
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError, first_line
from keras_bert.io import folders
from keras_bert.io.paths import is_remote, to_path

# The locks by path: threads that write the same file take turns.
_locks: dict[str, threading.RLock] = {}


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yields a local path at which to write a file or make a folder.

    When the block ends, the result is renamed to `path` and replaces what was
    there. If the block raises an error, the result is removed and `path` is
    unchanged. If a process is killed, the next call for the same `path` removes
    what the process left. If `path` is a link, the target of the link is
    replaced. Even after a power failure, `path` has either the old or the new
    content, because the new content is on the disk before it is renamed.

    On a store, a file is one object, which appears when it is complete. A
    folder is marked until it is complete; read it with `whole_folder`.

    Raises IsADirectoryError if a file would replace a folder.
    """
    lock = _locks.setdefault(str(path), threading.RLock())
    with lock, _made(path, is_shared=False) as partial:
        yield partial


def shared_path(path: str | Path) -> AbstractContextManager[Path]:
    """Like `atomic_path`, for a path that several processes may write.

    Each process writes to a temporary path of its own. If several processes
    write a file, the file that is complete last stays; if they write a folder,
    the folder that is complete first stays. A killed process leaves its
    incomplete result, named `.*.partial`.
    """
    return _made(path, is_shared=True)


@contextlib.contextmanager
def _made(path: str | Path, *, is_shared: bool) -> Iterator[Path]:
    path = _followed(to_path(path))
    if is_remote(path):
        with _uploaded(path) as partial:
            yield partial
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    name = uuid.uuid4().hex if is_shared else path.name
    partial = path.with_name(f".{name}.partial")
    replaced = _moved_aside(path)
    if not is_shared:
        if replaced.exists() and not path.exists():
            replaced.replace(path)
        remove(replaced)
        remove(partial)
    try:
        with disk_error_named(path):
            yield partial
            _sync(partial)
            if not partial.is_dir():
                check_is_not_folder(path)
            elif path.is_dir() and not is_shared:
                # A folder cannot be renamed over a folder that is not empty.
                # The old folder is first moved aside, so that one of the two
                # remains if the process is killed.
                path.replace(replaced)
            try:
                partial.replace(path)
            except OSError:
                if not (is_shared and path.is_dir()):
                    raise
            _sync_names(path.parent)
            if not is_shared:
                remove(replaced)
    finally:
        remove(partial)


@contextlib.contextmanager
def _uploaded(path: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="keras_bert-") as folder:
        partial = Path(folder, path.name)
        yield partial
        with write_error_named(path):
            if not partial.is_dir():
                check_is_not_folder(path)
                path.fs.put_file(str(partial), path.path)
                return
            replaced = _moved_aside(path)
            if is_whole(path):
                # Whenever the process is killed, one of the two folders is
                # complete.
                folders.copy_folder(path, replaced)
            folders.upload_folder(partial, path)
            remove(replaced)


def whole_folder(path: str | Path) -> Path:
    """Returns the folder to read: `path`, or its older version.

    The older version is returned only if a process was killed while
    `atomic_path` replaced the folder.
    """
    path = to_path(path)
    replaced = _moved_aside(path)
    return replaced if not is_whole(path) and is_whole(replaced) else path


def is_whole(path: Path) -> bool:
    """Returns whether a path is a file, or a folder not marked incomplete."""
    return path.exists() and not (path / folders.MARKER).exists()


def check_is_new(folder: str | Path) -> None:
    """Raises InputError if the folder already exists."""
    if is_whole(to_path(folder)):
        raise InputError(f"{folder} already exists; give a new folder.")


def remove(path: Path) -> None:
    """Removes a file, a folder or a link, if it exists."""
    if not path.is_dir() or (not is_remote(path) and path.is_symlink()):
        path.unlink(missing_ok=True)
    elif is_remote(path):
        with folders.marked_incomplete(path):  # until nothing is left of it
            pass
    else:
        shutil.rmtree(path)


def check_is_not_folder(path: str | Path) -> None:
    """Raises IsADirectoryError if the path of a file is a folder."""
    if to_path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")


def read_json(file: Path, form: type = dict, *, is_needed: bool = True) -> Any:
    """Returns the object or list in a JSON file.

    If the file is missing, and `is_needed` is False, the object or list is
    empty.

    Raises:
        FileNotFoundError: If a file that is needed is missing.
        InputError: If the file is not JSON, or not of the type `form`.
    """
    if not file.is_file():
        if not is_needed:
            return form()
        raise FileNotFoundError(
            f"{file} is missing; copy the whole folder of the model again."
        )
    try:
        values = json.loads(file.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{file} is not JSON ({error}); copy it again."
        ) from error
    if not isinstance(values, form):
        what = "an object" if form is dict else "a list"
        raise InputError(f"{file} is not {what}; copy it again.")
    return values


def write_json(path: str | Path, values: Any) -> None:
    """Writes values as JSON; a number that is not finite becomes null.

    Python's own writer would write NaN and Infinity, which JSON does not have.
    """
    with atomic_path(path) as partial:
        partial.write_text(to_json(values), encoding="utf-8")


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes text files into a folder; `texts` maps their paths to texts."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def to_json(values: Any) -> str:
    """Returns the text that `write_json` writes."""
    finite = json.loads(json.dumps(values), parse_constant=lambda name: None)
    return json.dumps(finite, indent=2) + "\n"


@contextlib.contextmanager
def full_disk_named(path: str | Path, error: type[Exception]) -> Iterator[None]:
    """Turns a library's own error about a full disk into an OSError."""
    try:
        yield
    except error as cause:
        raise OSError(
            f"Cannot write {path} ({first_line(cause)}); free some disk space "
            "and run the same command again."
        ) from cause


@contextlib.contextmanager
def disk_error_named(path: Path) -> Iterator[None]:
    """Adds the path to a system error that names no file.

    For example, an error about a full disk does not name the file.
    """
    try:
        yield
    except OSError as error:
        if error.errno and not error.filename:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def write_error_named(path: Path) -> Iterator[None]:
    """Turns any error of a store's library into an OSError."""
    try:
        yield
    except IsADirectoryError:
        raise
    except Exception as error:
        raise OSError(
            f"{path} cannot be written ({error}); check the name, the "
            "connection and your access, and run the same command again."
        ) from error


def _followed(path: Path) -> Path:
    """Returns the path or, if it is a link, the target of the link.

    The target need not exist.
    """
    return path if is_remote(path) or not path.is_symlink() else path.resolve()


def _sync(path: Path) -> None:
    """Waits until a file, or a folder and everything in it, is on the disk.

    Raises OSError if a file cannot be written, such as on a full disk.
    """
    if path.is_dir():
        for inner in path.iterdir():
            _sync(inner)
        _sync_names(path)
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_names(folder: Path) -> None:
    # Some file systems cannot sync a folder.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _moved_aside(path: Path) -> Path:
    path = _followed(path)
    return path.with_name(f".{path.name}.replaced")
