"""Makes the folders of files that contestants read."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from comparison.environments import CACHE, ROOT, Environments
from comparison.measure import environment_variables
from comparison.work import Preparation, Setup

_SCRIPTS = ROOT / "benchmarks" / "preparations"


class PreparationError(Exception):
    """A script that makes files for contestants failed."""


class Preparations:
    """The folders of a run; each is made once, after the folders it needs."""

    def __init__(
        self,
        preparations: Mapping[str, Preparation],
        setup: Setup,
        environments: Environments,
    ):
        self._preparations = preparations
        self._setup = setup
        self._environments = environments
        self._done: set[str] = set()
        self._failed: set[str] = set()

    def make(self, name: str) -> None:
        """Makes a folder, unless an earlier run made the same folder.

        Raises PreparationError if the script fails, or failed before.
        """
        if name in self._failed:
            raise PreparationError(f"{name} could not be prepared.")
        if name in self._done:
            return
        preparation = self._preparations[name]
        folder = Path(self._setup.folder(name))
        self._failed.add(name)  # until it is done
        for other in preparation.needs:
            self.make(other)
        mark = folder.with_name(f"{folder.name}.made_by")
        origin = self._origin(name)
        is_made = mark.is_file() and mark.read_text() == origin
        if not (preparation.is_kept and is_made):
            print(f"Preparing {name} ...", flush=True)
            mark.unlink(missing_ok=True)
            self._run(preparation, folder)
            mark.write_text(origin)
        self._failed.remove(name)
        self._done.add(name)

    def _origin(self, name):
        """Returns the scripts and arguments that make a folder, as a string."""
        preparation = self._preparations[name]
        script = (_SCRIPTS / preparation.script).read_text(encoding="utf-8")
        before = map(self._origin, preparation.needs)
        return "\n".join([*before, script, *preparation.arguments])

    def _run(self, preparation, folder):
        partial = folder.with_name(f"{folder.name}.partial")
        for path in (partial, folder):
            shutil.rmtree(path, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        log = CACHE / "logs" / f"{folder.name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as output:
            done = subprocess.run(
                [
                    self._environments.python(preparation.environment),
                    _SCRIPTS / preparation.script,
                    *preparation.arguments,
                    partial,
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment_variables(preparation.environment),
            )
        if done.returncode:
            raise PreparationError(
                f"{folder.name} could not be prepared; {log} says why."
            )
        partial.rename(folder)
