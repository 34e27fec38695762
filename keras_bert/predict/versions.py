"""The versions of a model: folders whose names are numbers, such as `served/1`.

A server serves the highest version.
"""

import contextlib
import dataclasses
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io import folders, whole_files
from keras_bert.io.checksums import write_checksums
from keras_bert.io.paths import is_remote, to_path

# The file in `assets` that describes the model and its signatures.
DESCRIPTION = "model.json"
# The file of warm-up requests, under the name that TensorFlow Serving reads.
WARM_UP = "assets.extra/tf_serving_warmup_requests"
# The model file in a version's folder, by format.
MODEL_FILES = {
    "saved_model": "saved_model.pb",
    "litert": "network.tflite",
    "onnx": "network.onnx",
    # network.bin, beside it, has the weights.
    "openvino": "network.xml",
}


@dataclasses.dataclass
class NewVersion:
    """A version that is being written.

    Attributes:
        path: The folder to fill. After the `with` block of `new_version`, it is
            the folder of the finished version.
    """

    path: Path


@contextlib.contextmanager
def new_version(
    model_dir: str | Path, model_format: str = "saved_model"
) -> Iterator[NewVersion]:
    """Yields a folder to fill, which becomes the next free version.

    The version gets checksums of all files except the model card, which may be
    edited. Other processes may write versions at the same time. If the block
    raises an error, the folder is removed. If the process is killed, an
    incomplete folder remains: `.partial-*` on a disk, and in an object store a
    version folder that is marked as incomplete. Servers load neither of them.

    Raises InputError if there are versions of another format, because
    TensorFlow Serving would try to load the newest version whatever its format.
    """
    model_dir = to_path(model_dir)
    for folder in find_versions(model_dir).values():
        if (present := format_of(folder)) != model_format:
            raise InputError(
                f"{model_dir} has versions of the format {present}; give "
                f"another folder for the format {model_format}."
            )
    if is_remote(model_dir):
        parent, publish = None, _upload
    else:
        model_dir.mkdir(parents=True, exist_ok=True)
        parent, publish = model_dir, _rename
    with (
        whole_files.disk_error_named(model_dir),
        tempfile.TemporaryDirectory(prefix=".partial-", dir=parent) as path,
    ):
        version = NewVersion(Path(path, "version"))
        version.path.mkdir()
        yield version
        names = folders.file_states(version.path).keys()
        write_checksums(version.path, names - {"README.md"})
        number = max(find_versions(model_dir), default=0) + 1
        while not publish(version.path, model_dir / str(number)):
            number += 1
        version.path = model_dir / str(number)


def find_versions(model_dir: str | Path) -> dict[int, Path]:
    """Returns the folders of a model's complete versions, keyed by number."""
    return {
        number: path
        for number, path in numbered_folders(model_dir).items()
        if is_version(folders.file_states(path))
    }


def numbered_folders(model_dir: str | Path) -> dict[int, Path]:
    """Returns the folders that may be versions, keyed by number.

    On a store, this takes only one request.
    """
    model_dir = to_path(model_dir)
    return {
        int(name): model_dir / name
        for name in folders.list_names(model_dir)
        if re.fullmatch("[0-9]+", name)
    }


def is_version(files: Collection[str]) -> bool:
    """Returns whether a folder with these files is a complete version.

    A complete version has a file of `MODEL_FILES` and no marker. On a store,
    `new_version` marks a folder until it is complete; other tools copy folders
    without a marker.
    """
    has_model = any(file in files for file in MODEL_FILES.values())
    return has_model and folders.MARKER not in files


def format_of(version: Path) -> str:
    """Returns the format of a version, a key of `MODEL_FILES`."""
    return next(
        name for name, file in MODEL_FILES.items() if (version / file).is_file()
    )


def read_description(version: Path) -> dict[str, Any]:
    """Returns the description of a version; empty if another tool made it."""
    file = version / "assets" / DESCRIPTION
    return whole_files.read_json(file, is_needed=False)


def _upload(source: Path, target: Path) -> bool:
    with whole_files.write_error_named(target):
        if is_free := folders.claim_folder(target):
            folders.upload_folder(source, target)
        return is_free


def _rename(source: Path, target: Path) -> bool:
    """Renames a folder; returns False if the new name is not free."""
    if target.exists():
        return False
    try:
        source.rename(target)
    except OSError:  # another process was faster
        if target.exists():
            return False
        raise
    return True
