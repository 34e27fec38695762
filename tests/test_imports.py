"""What is not imported, because the start of a command would wait for it."""

import os
import subprocess
import sys
from pathlib import Path

from keras_bert.commands.main import COMMANDS
from keras_bert.kinds.registry import known_kinds
from keras_bert.kinds.settings import known_settings

ROOT = Path(__file__).parent.parent
# Gives each command a wrong flag, and prints what is imported then.
_COMMANDS = """
import sys
from keras_bert.commands.main import COMMANDS, main
for command in COMMANDS:
    sys.argv = ["keras-bert", command, "--zzzqqq"]
    try:
        main()
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
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_a_wrong_flag_is_answered_without_tensorflow():
    *messages, modules = _stderr(_COMMANDS)
    assert messages == [
        "Error: Unknown command line flag 'zzzqqq'; see keras-bert "
        f"{command} --help."
        for command in COMMANDS
    ]
    assert "keras_bert.errors" in modules.split()
    assert _SLOW.isdisjoint(modules.split())


def test_a_server_imports_neither_networks_nor_training():
    modules = _stderr(_SERVING)[-1].split()
    # LiteRT, ONNX Runtime and OpenVINO need no TensorFlow.
    assert "tensorflow" not in modules
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
        "text",
    }
    assert {
        "apache_beam",
        "seqeval",
        "sklearn.metrics",
        "tensorboard",
        "tensorflow_datasets",
    }.isdisjoint(modules)


def test_the_settings_of_every_kind_are_known_without_the_kind():
    assert {k.Settings for k in known_kinds().values()} <= set(known_settings())
