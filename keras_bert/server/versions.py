"""A model's folder -> its loaded versions, swapped while requests run."""

import contextlib
import dataclasses
import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.folders import brief_copy, file_states
from keras_bert.predict.versions import (
    find_versions,
    is_version,
    numbered_folders,
)
from keras_bert.server.json_logs import log
from keras_bert.server.refusal import Refusal

_MAX_ENDED = 10  # the number of ended versions that keep their status


@dataclasses.dataclass
class Version:
    """A version of a model.

    Attributes:
        number: The number that names the folder of the version.
        state: The state, as in TensorFlow Serving's ModelVersionStatus.
        error: The reason why the version could not be loaded.
        servable: The model, if it is loaded.
        in_flight: The number of requests that the version is answering.
    """

    number: int
    state: str = "LOADING"
    error: str = ""
    servable: Any = None
    in_flight: int = 0


class ModelVersions:
    """The newest version in a folder, and the versions that have a label.

    `poll` loads new versions from the folder. A replaced version stays in
    memory until the last `use` block with this version ends.

    Attributes:
        failed_polls: The number of polls that have failed since the last poll
            that worked.
        store_error: The type of the store's error in the last poll, or "".

    Args:
        name: The name of the model.
        folder: The folder of the model, which has a folder for each version: 1,
            2 and so on.
        load: A function that loads the local folder of a version.
        labels: The version number of each label.

    Raises:
        InputError: If there is no version in the folder.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        load: Callable[[Path], Any],
        labels: Mapping[str, int],
    ):
        self.name = name
        self.labels = dict(labels)
        self.failed_polls = 0
        self.store_error = ""
        self._folder = folder
        self._load = load
        self._lock = threading.Lock()
        self._versions: dict[int, Version] = {}
        # The state of the files in each folder at the last poll, and at the
        # last failure to load the folder.
        self._seen: dict[int, dict] = {}
        self._failed: dict[int, dict] = {}
        self._has_changed = False
        folders = find_versions(folder)
        if not folders:
            raise InputError(
                f"{folder} has no version of a model; run keras-bert export, "
                "or give keras-bert serve the checkpoint as --model."
            )
        for label, number in labels.items():
            if number not in folders:
                raise InputError(
                    f"The label {label} is for version {number}, but {folder} "
                    f"has only {', '.join(map(str, sorted(folders)))}."
                )

    @contextlib.contextmanager
    def use(self, number: int | None = None) -> Iterator[Version]:
        """Yields a loaded version, by default the newest.

        Raises Refusal if there is no such version.
        """
        with self._lock:
            loaded = self._loaded()
            if number is None and self.is_loading():
                raise Refusal(f"{self.name} is still being loaded.", 503)
            newest = max(loaded, default=-1)
            version = loaded.get(newest if number is None else number)
            if version is None:
                raise not_servable(self.name, number)
            version.in_flight += 1
        try:
            yield version
        finally:
            with self._lock:
                version.in_flight -= 1
                self._drop_if_unused(version)

    def number_of(self, label: str) -> int:
        """Returns the number of the version with a label, or raises Refusal."""
        if label not in self.labels:
            raise Refusal(f"Unrecognized servable version label: {label[:100]}")
        return self.labels[label]

    def versions(self) -> list[Version]:
        """Returns all known versions, newest first."""
        versions = list(self._versions.values())
        return sorted(versions, key=lambda version: -version.number)

    def is_ready(self) -> bool:
        """Returns whether a version and all labeled versions are loaded."""
        loaded = self._loaded()
        return bool(loaded) and loaded.keys() >= set(self.labels.values())

    def is_loading(self) -> bool:
        """Returns whether no version is loaded yet, and none has failed."""
        return not self._loaded() and not self._failed

    def poll(self) -> bool:
        """Loads new versions, then unloads the versions that they replace.

        An error of the store is logged and counted; the next call tries again.
        Returns whether a version was loaded or unloaded since the last call.
        """
        try:
            self._update()
            self.failed_polls, self.store_error = 0, ""
        except BaseException as error:  # stores have errors of their own
            self.failed_polls += 1
            self.store_error = type(error).__name__
            log(
                "poll_failed",
                model=self.name,
                times=self.failed_polls,
                error=_shown(error),
            )
        has_changed, self._has_changed = self._has_changed, False
        return has_changed

    def _update(self) -> None:
        folders = numbered_folders(self._folder)
        wanted = {
            number
            for number in self.labels.values()
            if number in folders and self._is_loaded(number, folders[number])
        }
        for number in sorted(folders, reverse=True):
            if self._is_loaded(number, folders[number]):
                self._retire_all_but(wanted | {number})
                return

    def _loaded(self) -> dict[int, Version]:
        return {
            number: version
            for number, version in list(self._versions.items())
            if version.state == "AVAILABLE"
        }

    def _is_loaded(self, number: int, folder: Path) -> bool:
        """Returns whether a version is loaded; first loads it if possible."""
        if number in self._loaded():
            return True
        files = file_states(folder)
        # A folder that does not change between two polls counts as complete.
        is_settled = self._seen.get(number) == files
        self._seen[number] = files
        has_failed = self._failed.get(number) == files
        if not is_version(files) or not is_settled or has_failed:
            return False
        with brief_copy(folder) as copy:
            return self._read(number, copy, files)

    def _read(self, number: int, folder: Path, files: dict) -> bool:
        """Returns whether a version could be loaded."""
        version = Version(number)
        with self._lock:
            self._versions[number] = version
        start = time.monotonic()
        place = {"model": self.name, "version": number}
        try:
            version.servable = self._load(folder)
        except Exception as error:  # a damaged folder can lead to any error
            self._failed[number] = files
            version.error, version.state = _shown(error), "END"
            log("load_failed", **place, error=version.error)
            return False
        self._has_changed = True
        version.state = "AVAILABLE"
        seconds = round(time.monotonic() - start, 3)
        log("loaded", **place, seconds=seconds)
        return True

    def _retire_all_but(self, wanted: set[int]) -> None:
        with self._lock:
            for number, version in self._loaded().items():
                if number not in wanted:
                    version.state = "UNLOADING"
                    self._drop_if_unused(version)
            ended = [n for n, v in self._versions.items() if v.state == "END"]
            for number in sorted(ended)[:-_MAX_ENDED]:
                del self._versions[number]

    def _drop_if_unused(self, version: Version) -> None:
        if version.state == "UNLOADING" and version.in_flight == 0:
            version.state = "END"
            version.servable = None
            self._has_changed = True
            log("unloaded", model=self.name, version=version.number)


def not_servable(name: str, number: int | None) -> Refusal:
    """Returns TensorFlow Serving's error for a version that is not loaded."""
    wanted = (
        f"Latest({name})" if number is None else f"Specific({name}, {number})"
    )
    return Refusal(f"Servable not found for request: {wanted}", 404)


@contextlib.contextmanager
def polling(models: list[ModelVersions], seconds: float) -> Iterator[None]:
    """Polls models in a thread until the block ends."""
    is_stopped = threading.Event()

    def poll() -> None:
        while not is_stopped.is_set():
            if any([model.poll() for model in models]):
                # Without freeze, each garbage collection inspects all of
                # TensorFlow's objects, which takes a second. Reading JSON
                # causes many collections.
                gc.unfreeze()
                gc.collect()
                gc.freeze()
            is_stopped.wait(seconds)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_stopped.set()
        thread.join()  # waits for a version that is being loaded


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:1000]
