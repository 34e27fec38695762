from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import botocore.exceptions
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


def test_a_field_becomes_a_flag_and_is_read_back():
    read = config_flags.define(_Child)
    assert flags.FLAGS["flag_rate"].help == "The rate, in two lines."
    flags.FLAGS(["test", "--flag_rate=0.25", "--flag_switch"])
    assert read() == _Child(flag_rate=0.25, flag_count=3, flag_switch=True)


@dataclasses.dataclass(frozen=True)
class _Grid:
    """A grid.

    Attributes:
        grid_rate: The rate.
        grid_size: The size.
        grid_name: The name.
    """

    grid_rate: float = 0.5
    grid_size: int = 3
    grid_name: str = "a,b"


def test_a_grid_has_a_config_for_each_combination():
    read = config_flags.define_grid(_Grid, ("grid_rate", "grid_size"))
    flags.FLAGS(["test"])
    assert read() == [_Grid()]
    flags.FLAGS(["test", "--grid_rate=0.25,1e-3", "--grid_size=4,5"])
    assert read() == [
        _Grid(grid_rate=rate, grid_size=size)
        for rate in (0.25, 0.001)
        for size in (4, 5)
    ]
    flags.FLAGS(["test", "--grid_size=4,5.5"])
    with pytest.raises(ValueError, match="--grid_size contains '5.5'"):
        read()


@dataclasses.dataclass(frozen=True)
class _Settings:
    """Settings.

    Attributes:
        kind_size: The size.
        kind_case: Whether there is a case.
        kind_name: The name.
    """

    kind_size: int = 3
    kind_case: bool | None = None
    kind_name: str = keras_bert.setting("", choices=("", "a", "b"))


@dataclasses.dataclass(frozen=True)
class _OtherSettings(_Settings):
    """Other settings."""

    kind_size: int = 4


@dataclasses.dataclass(frozen=True)
class _ThirdSettings(_Settings):
    """More settings.

    Attributes:
        kind_size: Another size.
    """

    kind_size: int = 5


def test_only_given_settings_are_returned():
    read = config_flags.define_settings(
        [_Settings, _ThirdSettings, _OtherSettings]
    )
    assert flags.FLAGS["kind_size"].help == (
        "The size. (default: 3 or 4) Or: Another size. (default: 5)"
    )
    assert flags.FLAGS["kind_case"].help == (
        "Whether there is a case. (default: None)"
    )
    flags.FLAGS(["test"])
    assert read() == {}
    flags.FLAGS(["test", "--nokind_case", "--kind_name=b"])
    assert read() == {"kind_case": False, "kind_name": "b"}
    with pytest.raises(flags.IllegalFlagValueError, match="should be one of"):
        flags.FLAGS(["test", "--kind_name=c"])


_FAIL = """
import config_flags
import keras_bert
def main():
    raise {error}("This is wrong; do that.")
config_flags.run(main)
"""


def _run(error, args=()):
    return subprocess.run(
        [sys.executable, "-c", _FAIL.format(error=error), *args],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'run_scripts'}"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Error: This is wrong; do that."),
        (["stray"], "Error: 'stray' is not a flag; see --help."),
    ],
)
def test_wrong_input_prints_one_sentence_and_exits_with_1(args, message):
    done = _run("keras_bert.InputError", args)
    assert done.returncode == 1
    assert done.stderr.strip() == message


def test_help_shows_every_flag():
    done = subprocess.run(
        [sys.executable, ROOT / "run_scripts" / "run_finetuning.py", "--help"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    for name in ("data_dir", "learning_rate", "lora_rank", "n_best_size"):
        assert f"--{name}: " in done.stdout, name


def test_a_store_that_does_not_answer_is_one_sentence():
    for error in (
        botocore.exceptions.NoCredentialsError(),
        PermissionError("Access Denied"),
    ):
        with (
            pytest.raises(SystemExit, match="^Error: (Unable|Access)"),
            config_flags._exit_on_wrong_input(),
        ):
            raise error


def test_a_defect_shows_its_traceback():
    done = _run("ValueError")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.strip().endswith("ValueError: This is wrong; do that.")


def test_every_public_name_can_be_imported():
    for name in keras_bert.__all__:
        assert callable(getattr(keras_bert, name)), name
        assert name in dir(keras_bert)
    with pytest.raises(AttributeError, match="attribute bert"):
        _ = keras_bert.bert
