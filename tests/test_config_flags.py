from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import botocore.exceptions
import config_flags
import flag_errors
import flag_help
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
    kind_name: str = keras_bert.kinds.setting("", choices=("", "a", "b"))


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


SIZE = flags.DEFINE_integer("wrong_size", None, "A size.")
NAME = flags.DEFINE_string("wrong_name", None, "A name.")
flags.DEFINE_float("wrong_rate", 0.5, "A rate.")
flags.DEFINE_bool("wrong_switch", False, "A switch.")
flags.DEFINE_enum("wrong_choice", "a", ["a", "b"], "A choice.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--wrong_size=1.5"], "--wrong_size is '1.5', but must be a whole nu"),
        (["--wrong_size=2: 3"], "--wrong_size is '2: 3', but must be a whole"),
        (["--wrong_rate=high"], "--wrong_rate is 'high', but must be a number"),
        (["--wrong_switch=on"], "--wrong_switch is 'on', but must be true or"),
        (
            ["--nowrong_switch=1"],
            "--nowrong_switch=1 does not take an argument",
        ),
        (
            ["--wrong_choice=c"],
            "--wrong_choice is 'c', but must be one of a, b",
        ),
        (["--wrong_siz=3"], "--wrong_siz is not a flag; perhaps --wrong_size;"),
        (["- a text"], "-- a text is not a flag; write --name=value, and -- b"),
        (["--zzzqqq"], "--zzzqqq is not a flag; see --help."),
        (
            ["--wrong_name"],
            "--wrong_name has no value; write --wrong_name=VALUE",
        ),
        (["--wrong_name", "--wrong_rate=1"], "--wrong_name has no value"),
        (["--wrong_name", "--nowrong_switch"], "--wrong_name has no value"),
        (["--wrong_rate=1", "-wrong_rate", "2"], "--wrong_rate is given twice"),
        (
            ["--wrong_switch", "--nowrong_switch"],
            "--wrong_switch is given twice",
        ),
        (["--flagfile=absent"], "A --flagfile cannot be read: .*No such file"),
        (["--flagfile"], "--flagfile with no argument"),
    ],
)
def test_a_wrong_flag_is_one_sentence(arguments, message):
    with pytest.raises(keras_bert.InputError, match=f"^{message}") as error:
        flag_errors.parse(["script", *arguments])
    assert str(error.value).endswith(".")


def test_arguments_that_only_look_wrong(tmp_path):
    path = tmp_path / "flags"
    path.write_text("--wrong_rate=1\n--nowrong_switch\n")
    wrong_name = ["--wrong_name", "wrong_size"]
    assert flag_errors.parse(
        ["script", f"--flagfile={path}", "--wrong_rate=-2", *wrong_name]
        + ["--", "--wrong_rate=3", "--unknown"]
    ) == ["script", "--wrong_rate=3", "--unknown"]
    assert flags.FLAGS.wrong_rate == -2
    assert NAME.value == "wrong_size"


def test_a_flagfile_that_is_not_text(tmp_path):
    path = tmp_path / "flags"
    path.write_bytes(b"--wrong_name=\xff\n")
    with pytest.raises(keras_bert.InputError, match="flagfile cannot be read"):
        flag_errors.parse(["script", f"--flagfile={path}"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --wrong_size and --wrong_name; see --help."),
        (["--wrong_size=0", "--wrong_name="], "Give --wrong_name; see --help."),
    ],
)
def test_required_flags_that_are_missing_or_empty(arguments, message):
    flags.FLAGS.unparse_flags()
    flag_errors.parse(["script", *arguments])
    with pytest.raises(keras_bert.InputError, match=f"^{message}$"):
        flag_errors.check_required([SIZE, NAME])


def test_an_unknown_flag_does_not_hide_the_flags_after_it(monkeypatch):
    arguments = ["script", "--not_yet_known", "3", "--wrong_name=x"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert config_flags.peek("wrong_name") == "x"


def test_help_is_in_the_order_of_use():
    titles = [title for title, _ in config_flags._documented(_Child).values()]
    assert titles == ["A child", "A child", "A parent"]
    text = flag_help.help_text(
        ["wrong_name"], {"A child": ["wrong_rate", "wrong_switch"]}
    )
    assert text.endswith(
        """Required:
  --wrong_name: A name.

A child:
  --wrong_rate: A rate. (default: 0.5)
  --[no]wrong_switch: A switch. (default: false)

--helpfull shows flags of the log and others, such as --flagfile."""
    )
    assert flag_help.is_asked_for(["a text", "-h"])
    assert not flag_help.is_asked_for(["--", "-h"])


def test_help_shows_every_flag():
    done = subprocess.run(
        [sys.executable, ROOT / "run_scripts" / "run_finetuning.py", "-h"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    places = [
        done.stdout.index(text)
        for text in (
            "Fine-tunes BERT on a task.",
            "Required:",
            "--data_dir: ",
            "Data and model:",
            "--checkpoint: ",
            "--num_train_epochs: ",
            "--lora_rank: ",
            "--learning_rate: ",
            "The devices of a run",
            "--precision: ",
            "--max_seq_length: ",
            "--n_best_size: ",
        )
    ]
    assert places == sorted(places)


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
        (
            ["stray"],
            "Error: 'stray' is not a flag; write --name=value, and see --help.",
        ),
    ],
)
def test_wrong_input_prints_one_sentence_and_exits_with_1(args, message):
    done = _run("keras_bert.InputError", args)
    assert done.returncode == 1
    assert done.stderr.strip() == message


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
