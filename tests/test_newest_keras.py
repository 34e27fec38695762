"""The core of the suite against the newest Keras of the index."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CORE = [
    "models/test_network.py",
    "training/optimizers",
    "training/test_callbacks.py",
    "training/test_seeds.py",
    "training/test_interruption.py",
]


@pytest.mark.slow
def test_the_core_passes_with_the_newest_keras(tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*pip, "--target", tmp_path, "keras"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no package index here: {done.stderr.strip()[-200:]}")
    path = os.pathsep.join([str(tmp_path), str(TESTS.parent)])
    environment = os.environ | {"PYTHONPATH": path}
    found = subprocess.run(
        [sys.executable, "-c", "import keras; print(keras.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(TESTS / x for x in CORE)],
        env=environment,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
