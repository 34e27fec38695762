"""The name of an environment -> its Python, with the packages in its file."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_REQUIREMENTS = ROOT / "benchmarks" / "environments"
# Ignored by git.
CACHE = ROOT / ".bench"


def known_environments() -> tuple[str, ...]:
    """Returns the names of all environments except our own."""
    return tuple(sorted(path.stem for path in _REQUIREMENTS.glob("*.txt")))


class Environments:
    """The Pythons of environments, which are built at their first use."""

    def __init__(self, pythons: Mapping[str, str] | None = None):
        """`pythons` are interpreters of environments that need no building."""
        self._pythons = {"keras_bert": sys.executable, **(pythons or {})}

    def python(self, name: str) -> str:
        """Returns the interpreter of an environment."""
        if name not in self._pythons:
            self._pythons[name] = str(_build(name))
        return self._pythons[name]


def built_python(name: str) -> str:
    """Returns the interpreter that `make bench` builds for an environment."""
    return str(CACHE / name / "bin" / "python")


def _build(name):
    """Returns the Python of an environment; rebuilds it if its file changed."""
    requirements = _REQUIREMENTS / f"{name}.txt"
    folder = CACHE / name
    python = folder / "bin" / "python"
    mark = folder / "installed"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if mark.is_file() and mark.read_text() == digest:
        return python
    print(f"Building the environment {name} ...", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-r", requirements],
        check=True,
    )
    mark.write_text(digest)
    return python
