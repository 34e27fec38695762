"""What is not imported, because the start of a command would wait for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.kinds.registry import known_kinds, known_settings

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(
    path
    for path in (ROOT / "run_scripts").glob("*.py")
    if "config_flags.run(" in path.read_text(encoding="utf-8")
)
# Runs a script in this process, and prints what it has imported.
_SCRIPT = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as exit:
    print(exit.code, file=sys.stderr)
print(*sys.modules, file=sys.stderr)
"""
_SERVING = """
import sys
import keras_bert
keras_bert.ServedModel, keras_bert.predict_files, keras_bert.serve
print(*sys.modules, file=sys.stderr)
"""
_SLOW = {"tensorflow", "keras", "sklearn", "scipy", "matplotlib"}


def _stderr(*command):
    done = subprocess.run(
        [sys.executable, "-c", *map(str, command)],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'run_scripts'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_wrong_flag_is_answered_without_tensorflow(script):
    message, modules = _stderr(_SCRIPT, script, "--no_such_flag")
    assert message.startswith("Error: --no_such_flag is not a flag; ")
    assert "keras_bert.errors" in modules.split()
    assert _SLOW.isdisjoint(modules.split())


def test_a_server_imports_neither_networks_nor_training():
    modules = _stderr(_SERVING)[-1].split()
    assert "tensorflow" in modules
    parts = {
        name.split(".")[1] for name in modules if name.startswith("keras_bert.")
    }
    assert parts == {
        "errors",
        "io",
        "predict",
        "progress",
        "registration",
        "server",
        "settings",
    }
    # TensorFlow itself imports Keras, and Keras imports a part of sklearn.
    assert {
        "apache_beam",
        "pyarrow",
        "seqeval",
        "sklearn.metrics",
        "tensorboard",
        "tensorflow_datasets",
    }.isdisjoint(modules)


def test_the_settings_of_every_kind_are_known_without_the_kind():
    assert {k.Settings for k in known_kinds().values()} <= set(known_settings())
