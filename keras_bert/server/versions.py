"""A model's folder -> its loaded versions, swapped while requests run."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.folders import file_states
from keras_bert.io.local_copy import brief_copy
from keras_bert.io.paths import is_remote
from keras_bert.predict.versions import (
    find_versions,
    format_of,
    is_version,
    numbered_folders,
)
from keras_bert.server.json_logs import log
from keras_bert.server.refusal import Refusal

_MAX_ENDED = 10  # of these many versions that ended, the status is kept
# Nobody writes in a folder in which nothing has changed for so many seconds.
_SETTLED_SECONDS = 5


@dataclasses.dataclass
class Version:
    """A version of a model.

    Attributes:
        number: The name of its folder.
        state: A State of TensorFlow Serving's ModelVersionStatus.
        error: Why it could not be loaded.
        servable: The model, if it is loaded.
        in_flight: How many requests it is answering.
    """

    number: int
    state: str = "START"
    error: str = ""
    servable: Any = None
    in_flight: int = 0


class ModelVersions:
    """The newest version in a folder, and those that have a label.

    `poll` takes in what has changed in the folder. A request that `use`d a
    version keeps it until it ends.

    Attributes:
        failed_polls: How many polls the store has failed, since one was fine.
        store_error: The type of what the store raised in the last poll, or "".

    Args:
        name: The name of the model.
        folder: Its folder, with a folder for each version: 1, 2 ...
        load: Loads the local folder of a version.
        labels: Maps labels to versions.

    Raises:
        InputError: If there is no version in the folder.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        load: Callable[[Path, int], Any],
        labels: Mapping[str, int],
    ):
        self.name = name
        self.labels = dict(labels)
        self._folder = folder
        self._load = load
        self._lock = threading.Lock()
        self._versions: dict[int, Version] = {}
        self._seen: dict[int, dict] = {}
        self._failed: dict[int, dict] = {}
        self._garbage = False
        self.failed_polls = 0
        self.store_error = ""
        self._errors: list[BaseException] = []
        folders = find_versions(folder)
        if not folders:
            raise InputError(
                f"{folder} has no version of a model, such as {folder}/1; "
                "make one with keras-bert export."
            )
        model_format = format_of(next(iter(folders.values())))
        if model_format != "saved_model":
            raise InputError(
                f"{folder} has versions of the format {model_format}, but the "
                "server takes SavedModels; export the model without --format."
            )
        for label, number in labels.items():
            if number not in folders:
                raise InputError(
                    f"The label {label} is of version {number}, but {folder} "
                    f"has only {', '.join(map(str, sorted(folders)))}."
                )

    @contextlib.contextmanager
    def use(
        self, number: int | None = None, label: str | None = None
    ) -> Iterator[Version]:
        """Yields a loaded version, by default the newest.

        Raises Refusal if there is none.
        """
        if label is not None:
            number = self.number_of(label)
        with self._lock:
            version = self._available(number)
            version.in_flight += 1
        try:
            yield version
        finally:
            with self._lock:
                version.in_flight -= 1
                self._drop_if_unused(version)

    def number_of(self, label: str) -> int:
        """Returns the version that has a label, or raises Refusal."""
        if label not in self.labels:
            raise Refusal(
                400, f"Unrecognized servable version label: {label[:100]}"
            )
        return self.labels[label]

    def versions(self) -> list[Version]:
        """Returns all versions that are known, the newest first."""
        with self._lock:
            return [
                dataclasses.replace(self._versions[number])
                for number in sorted(self._versions, reverse=True)
            ]

    def is_ready(self) -> bool:
        """Returns whether a version is loaded, and those with a label."""
        with self._lock:
            available = {
                number
                for number, version in self._versions.items()
                if version.state == "AVAILABLE"
            }
        return bool(available) and available >= set(self.labels.values())

    def poll(self) -> None:
        """Loads what is new, then lets go of what it replaces.

        What the store raises is logged and counted; the next call tries again.
        """
        self._errors = []
        try:
            self._update()
        except BaseException as error:  # each store's library has its own
            self._errors.append(error)
        if not self._errors:
            self.failed_polls, self.store_error = 0, ""
            return
        self.failed_polls += 1
        self.store_error = type(self._errors[0]).__name__
        log(
            "poll_failed",
            model=self.name,
            times=self.failed_polls,
            error=_shown(self._errors[0]),
        )

    def _update(self):
        # The number of a version is an int64 in TensorFlow Serving's messages.
        folders = {
            number: path
            for number, path in numbered_folders(self._folder).items()
            if number < 2**63
        }
        wanted = {
            number
            for number in self.labels.values()
            if number in folders and self._is_loaded(number, folders[number])
        }
        for number in sorted(folders, reverse=True):
            if self._is_loaded(number, folders[number]):
                self._retire_all_but(wanted | {number})
                break
        if self._garbage:
            self._garbage = False
            gc.collect()

    def _available(self, number):
        available = [
            version
            for version in self._versions.values()
            if version.state == "AVAILABLE" and number in (None, version.number)
        ]
        if available:
            return max(available, key=lambda version: version.number)
        if number is None and not self._failed:
            raise Refusal(
                503,
                f"The model {self.name} is still being loaded.",
                {"Retry-After": "1"},
            )
        wanted = f"Specific({self.name}, {number})"
        raise Refusal(
            404,
            "Servable not found for request: "
            f"{wanted if number is not None else f'Latest({self.name})'}",
        )

    def _is_loaded(self, number, folder):
        """Returns whether a version is loaded, or can be and now is."""
        version = self._versions.get(number)
        if version is not None and version.state == "AVAILABLE":
            return True
        try:
            files = file_states(folder)
            if not self._should_be_loaded(number, folder, files):
                return False
            with brief_copy(folder) as copy:
                return self._is_read(number, copy, files)
        except BaseException as error:  # of the store; a lower version may do
            self._errors.append(error)
            return False

    def _should_be_loaded(self, number, folder, files):
        """Returns whether a version is whole, and nobody changes it."""
        is_settled = self._seen.get(number) == files or _is_old(folder)
        self._seen[number] = files
        return (
            is_version(files)
            and is_settled
            and self._failed.get(number) != files
        )

    def _is_read(self, number, folder, files):
        version = Version(number, "LOADING")
        with self._lock:
            self._versions[number] = version
        start = time.monotonic()
        try:
            version.servable = self._load(folder, number)
        except Exception as error:  # whatever a damaged folder leads to
            self._failed[number] = files
            with self._lock:
                version.state = "END"
                version.error = _shown(error)
            log("load_failed", **self._id(number), error=version.error)
            return False
        self._failed.pop(number, None)
        with self._lock:
            version.state = "AVAILABLE"
        log(
            "loaded",
            **self._id(number),
            seconds=round(time.monotonic() - start, 3),
        )
        return True

    def _retire_all_but(self, wanted):
        with self._lock:
            for number, version in self._versions.items():
                if version.state == "AVAILABLE" and number not in wanted:
                    version.state = "UNLOADING"
                    self._drop_if_unused(version)
            ended = [n for n, v in self._versions.items() if v.state == "END"]
            for number in sorted(ended)[:-_MAX_ENDED]:
                del self._versions[number]

    def _drop_if_unused(self, version):
        if version.state == "UNLOADING" and version.in_flight == 0:
            version.state = "END"
            version.servable = None
            self._garbage = True
            log("unloaded", **self._id(version.number))

    def _id(self, number):
        return {"model": self.name, "version": number}


class Poller:
    """A thread that polls models until it is stopped."""

    def __init__(self, models: list[ModelVersions], seconds: float):
        self._models = models
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, after what it is loading."""
        self._stopped.set()
        self._thread.join()

    def _run(self):
        while not self._stopped.is_set():
            for model in self._models:
                model.poll()
            self._stopped.wait(self._seconds)


def _is_old(folder):
    """Returns whether nothing has changed for some time.

    Only a local folder can tell when something was copied to it.
    """
    if is_remote(folder):
        return False
    newest = max(x.stat().st_ctime for x in [folder, *folder.rglob("*")])
    return newest < time.time() - _SETTLED_SECONDS


def _shown(error):
    return f"{type(error).__name__}: {error}"[:1000]
