from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import config_flags
import pytest
from absl import flags

import keras_bert

ROOT = Path(__file__).parent.parent


@dataclasses.dataclass(frozen=True)
class _Parent:
    """A parent.

    Attributes:
        flag_rate: The rate,
            in two lines.
    """

    flag_rate: float = 0.5


@dataclasses.dataclass(frozen=True)
class _Child(_Parent):
    """A child.

    Attributes:
        flag_count: The count.
        flag_switch: The switch.
    """

    flag_count: int = 3
    flag_switch: bool = False


def test_a_field_becomes_a_flag_and_back():
    read = config_flags.define(_Child)
    assert flags.FLAGS["flag_rate"].help == "The rate, in two lines."
    flags.FLAGS(["test", "--flag_rate=0.25", "--flag_switch"])
    assert read() == _Child(flag_rate=0.25, flag_count=3, flag_switch=True)


_FAIL = """
import config_flags
def main():
    raise ValueError("This is wrong; do that.")
config_flags.run(main)
"""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Error: This is wrong; do that."),
        (["stray"], "Error: 'stray' is not a flag; see --help."),
    ],
)
def test_bad_input_ends_in_one_sentence_and_status_1(args, message):
    done = subprocess.run(
        [sys.executable, "-c", _FAIL, *args],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'run_scripts'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == message


def test_every_public_name_is_there():
    for name in keras_bert.__all__:
        assert callable(getattr(keras_bert, name)), name
        assert name in dir(keras_bert)
    with pytest.raises(AttributeError, match="no public name 'bert'"):
        _ = keras_bert.bert
