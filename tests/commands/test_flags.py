from __future__ import annotations

import dataclasses
import errno
import importlib
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import botocore.exceptions
import pytest

import keras_bert
from keras_bert.commands import embed, main
from keras_bert.commands.flags import Flags, read_bert_config
from keras_bert.io.whole_files import atomic_path
from keras_bert.predict.versions import new_version

ROOT = Path(__file__).parent.parent.parent


def make(run, *arguments, doc=""):
    return Flags("keras-bert try", arguments, run, doc)


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
    def run(config: _Child): ...

    # The annotations of this file are strings; those of commands are classes.
    run.__annotations__["config"] = _Child
    flags = make(run, "--flag_rate=0.25", "--flag_switch")
    assert flags["flag_rate"].help == "The rate, in two lines."
    assert flags.parse() == []
    assert flags.arguments() == {
        "config": _Child(flag_rate=0.25, flag_count=3, flag_switch=True)
    }


def test_a_parameter_becomes_a_flag():
    def run(
        *texts,
        flags,
        wrong_size: int,
        wrong_name: str | None = None,
        wrong_list: list | None = None,
    ): ...

    doc = "Does it.\n\nArgs:\n" + "".join(
        f"    wrong_{x}: A {x},\n        in lines.\n"
        for x in ("size", "name", "list")
    )
    arguments = "a text", "--wrong_size=3", "another"
    flags = make(run, *arguments, doc=doc)
    assert flags["wrong_size"].help == "A size, in lines."
    assert flags.parse() == ["a text", "another"]
    assert flags.arguments() == {
        "flags": flags,
        "wrong_size": 3,
        "wrong_name": None,
        "wrong_list": None,
    }


def test_a_network_is_a_file_or_a_name(tmp_path, vocab_file):
    config = keras_bert.BertConfig(vocab_size=7)
    (tmp_path / "a.json").write_text(config.to_json())
    assert read_bert_config(f"{tmp_path}/a.json", None) == config
    tiny = read_bert_config("bert_tiny", None)
    assert (tiny.hidden_size, tiny.vocab_size) == (128, 30522)
    assert read_bert_config("bert_tiny", vocab_file).vocab_size == 31
    assert read_bert_config(None, None) is None


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("--layers=-1,2", [-1, 2]),
        ("--layers=", []),
        ("--layers=4,5.5", "--layers is '4,5.5', but must be whole numbers"),
    ],
)
def test_a_flag_takes_several_whole_numbers(argument, expected):
    def run(layers: list = ()):
        pass

    flags = make(run, argument, doc="A doc.\n\nArgs:\n    layers: Layers.")
    flags.parse()
    if isinstance(expected, list):
        assert flags.whole_numbers("layers") == expected
    else:
        with pytest.raises(keras_bert.InputError, match=expected):
            flags.whole_numbers("layers")


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
    flags = make(lambda: None, "--nokind_case", "--kind_name=b")
    flags.add_settings([_Settings, _ThirdSettings, _OtherSettings])
    assert flags["kind_size"].help == (
        "The size. (default: 3 or 4) Or: Another size. (default: 5)"
    )
    assert flags["kind_case"].help == "Whether there is a case. (default: None)"
    flags.parse()
    assert flags.settings() == {"kind_case": False, "kind_name": "b"}


@dataclasses.dataclass(frozen=True)
class _Wrong:
    """What can be wrong.

    Attributes:
        wrong_rate: A rate.
        wrong_switch: A switch.
        wrong_choice: A choice.
    """

    wrong_rate: float = 0.5
    wrong_switch: bool = False
    wrong_choice: str = keras_bert.kinds.setting("a", choices=("a", "b"))


@pytest.fixture
def wrong():
    """Parses arguments."""

    def run(wrong_size: int, wrong_name: str, *texts): ...

    def parse(*arguments):
        doc = "Args:\n    wrong_size: A size.\n    wrong_name: A name.\n"
        flags = make(run, *arguments, doc="Tries.\n\n" + doc)
        flags.add_fields(_Wrong)
        return flags, flags.parse()

    return parse


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--wrong_size=1.5"], "flag --wrong_size=1.5 must be an integer; see"),
        (["--wrong_size=2: 3"], "flag --wrong_size=2: 3 must be an integer; s"),
        (["--wrong_rate=high"], "flag --wrong_rate=high must be a number; see"),
        (["--wrong_switch=on"], "flag --wrong_switch=on must be true or false"),
        (["--nowrong_switch=1"], "--nowrong_switch=1 does not take an arg"),
        (["--wrong_choice=c"], "flag --wrong_choice=c: .* one of <a.b>; see"),
        (["--wrong_siz=3"], "Unknown .* 'wrong_siz'; did you mean: wrong_size"),
        (["- a text"], "Unknown .* ' a text'; write -- before a text that"),
        (["--zzzqqq"], "Unknown .* flag 'zzzqqq'; see keras-bert try --help."),
        (["--wrong_name"], "--wrong_name has no value; write --wrong_name=VAL"),
        (["--wrong_name", "--nowrong_switch"], "--wrong_name has no value"),
        (["--wrong_rate=1", "-wrong_rate", "2"], "--wrong_rate is given twice"),
        (["--wrong_switch", "--nowrong_switch"], "--wrong_switch is given tw"),
        (["--flagfile=absent"], "ERROR:: Unable to open flagfile: .*No such f"),
        (["--flagfile"], "--flagfile"),
    ],
)
def test_a_wrong_flag_is_one_sentence(wrong, arguments, message):
    with pytest.raises(keras_bert.InputError, match=f"^{message}") as error:
        wrong(*arguments)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("form", [["--flagfile={}"], ["--flagfile", "{}"]])
def test_arguments_that_only_look_wrong(wrong, tmp_path, form):
    path = tmp_path / "flags"
    flagfile = [x.format(path) for x in form]
    path.write_text("--wrong_rate=1\n--nowrong_switch\n")
    flags, texts = wrong(
        *("--wrong_rate=-2", *flagfile, "--wrong_name"),
        *("wrong_size", "--", "--wrong_rate=3", "--flagfile=absent"),
    )
    assert texts == ["--wrong_rate=3", "--flagfile=absent"]
    assert flags.wrong_rate == -2
    assert flags.wrong_name == "wrong_size"


def test_a_flagfile_that_is_not_text(wrong, tmp_path):
    path = tmp_path / "flags"
    path.write_bytes(b"--wrong_name=\xff\n")
    with pytest.raises(keras_bert.InputError, match="can't decode byte 0xff"):
        wrong(f"--flagfile={path}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --wrong_size and --wrong_name; see keras-bert try --help."),
        (["--wrong_size=0", "--wrong_name="], "Give --wrong_name; see keras-"),
    ],
)
def test_required_flags_that_are_missing_or_empty(wrong, arguments, message):
    flags, _ = wrong(*arguments)
    with pytest.raises(keras_bert.InputError, match=f"^{message}"):
        flags.check_required()


def test_help_is_in_the_order_of_use():
    def run(config: _Child, wrong_size: int, wrong_name: str = "x"): ...

    run.__annotations__["config"] = _Child
    doc = (
        "Does it.\n\nArgs:\n    wrong_size: A size.\n    wrong_name: A name.\n"
    )
    assert make(run, doc=doc).help_text() == (
        """Does it.

Required:
  --wrong_size: A size.

Data and model:
  --wrong_name: A name. (default: x)

A child:
  --flag_count: The count. (default: 3)
  --[no]flag_switch: The switch. (default: false)

A parent:
  --flag_rate: The rate, in two lines. (default: 0.5)

--flagfile=FILE reads flags from a file, one per line."""
    )


def _python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_list_of_commands():
    done = _python("-m", "keras_bert", "-h")
    assert done.returncode == 0
    for command in main.COMMANDS:
        assert f"\n  {command} " in done.stdout
        module = main._module(command)
        for name, type_ in module.run.__annotations__.items():
            is_flag = name not in ("flags", "return", "texts")
            if is_flag and not dataclasses.is_dataclass(type_):
                assert f"\n    {name}: " in module.__doc__, (command, name)
    assert done.stdout.count("\n") == len(main.COMMANDS) + 4
    done = _python("-m", "keras_bert", "finetun")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: 'finetun' is not a command; see keras-bert --help.\n"
    )
    done = _python("-m", "keras_bert", "completion", "zsh")
    assert (done.returncode, done.stderr) == (
        1,
        "Error: keras-bert completion supports only bash.\n",
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("keras-bert ex", "export extend-vocab extend-positions"),
        ("keras-bert convert --inp", "--input="),
        ("keras-bert convert --norm", "--normalize="),
        ("keras-bert convert --input = a", ""),
    ],
)
def test_completion_of_bash(words, expected):
    script = _python("-m", "keras_bert", "completion", "bash").stdout
    lines = (
        f'keras-bert() {{ {sys.executable} -m keras_bert "$@"; }}',
        script,
        f"COMP_WORDS=({words}) COMP_CWORD={len(words.split()) - 1}",
        '_keras_bert; echo "${COMPREPLY[@]}"',
    )
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == expected.split(), done.stderr


def test_help_shows_every_flag():
    done = _python(ROOT / "run_scripts" / "run_finetuning.py", "--help")
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
            "As in google-research/bert:",
            "--task_name: Alias for --task.",
        )
    ]
    assert places == sorted(places)


_FAIL = """
import sys
import keras_bert
from keras_bert.commands import main
def run():
    raise {error}("This is wrong; do that.")
main.run("try", sys.modules[__name__], sys.argv[1:])
"""
# The test of an InputError shows that TensorFlow's import says nothing.
_FAIL_AT_ONCE = _FAIL.replace(
    "main.run(", "main.import_tensorflow = int\nmain.run("
)


def test_wrong_input_prints_one_sentence_and_exits_with_1():
    done = _python("-c", _FAIL.format(error="keras_bert.InputError"))
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: This is wrong; do that."


def test_a_text_where_none_is_read_is_refused():
    message = "^'stray' is not a flag; write --name=value, and see keras-bert "
    with pytest.raises(keras_bert.InputError, match=message):
        make(lambda: None, "stray").parse()


def test_a_store_that_does_not_answer_is_one_sentence():
    for error in (
        botocore.exceptions.NoCredentialsError(),
        PermissionError("Access Denied"),
    ):
        with (
            pytest.raises(SystemExit, match="^Error: (Unable|Access)"),
            main.exit_on_wrong_input(),
        ):
            raise error


def test_a_command_without_tensorflow_is_one_sentence():
    for name in ("keras", "tensorflow"):
        with (
            pytest.raises(SystemExit, match=f"needs the package {name}, which"),
            main.exit_on_wrong_input(),
        ):
            raise ModuleNotFoundError(name=name)
    with pytest.raises(ModuleNotFoundError), main.exit_on_wrong_input():
        raise ModuleNotFoundError(name="onnx")


def test_a_defect_shows_its_traceback():
    done = _python("-c", _FAIL_AT_ONCE.format(error="ValueError"))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.strip().endswith("ValueError: This is wrong; do that.")


def test_after_sigterm_a_command_leaves_nothing_half_written(
    tmp_path, monkeypatch
):
    def run(name, module, arguments):
        with new_version(tmp_path) as version:
            assert version.path.is_dir()
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("The command went on.")

    monkeypatch.setattr(main, "run", run)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as left:
            main.main("export")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert left.value.code == 143
    assert not list(tmp_path.iterdir())


def test_a_look_at_a_flag_reads_past_unknown_flags_and_sets_up_no_log():
    logger = logging.getLogger("absl")
    level = logger.level

    def run(task: str): ...

    doc = "Runs.\n\nArgs:\n    task: One.\n"
    flags = make(run, "--not_yet_known", "3", "--task=a", doc=doc)
    assert flags.peek("task") == "a"
    assert logger.level == level
    assert flags.task is None


def test_ctrl_c_ends_with_a_sentence(capsys):
    with pytest.raises(SystemExit) as ended, main.exit_on_wrong_input():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Stopped by Ctrl-C.\n"


def test_a_reader_that_has_enough_ends_the_command():
    script = _FAIL_AT_ONCE.format(error="BrokenPipeError")
    done = _python("-c", script.replace("    raise", "    print(1)\n    raise"))
    assert (done.returncode, done.stderr) == (128 + 13, "")


def test_a_full_disk_names_the_file(tmp_path):
    with (
        pytest.raises(SystemExit) as ended,
        main.exit_on_wrong_input(),
        atomic_path(tmp_path / "a"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert ended.value.code == (
        f"Error: {tmp_path}/a: No space left on device; free some disk space, "
        "and repeat."
    )


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("predict", "--model_dir=a --beam_options=b", "without --runner"),
        ("serve", "--model_dir=a --cache_dir=b", "without --model;"),
        (
            "extend_vocab",
            "--checkpoint=a --output_dir=b --num_new_pieces=9",
            "without --input_file",
        ),
        (
            "pretrain",
            "--input_file=a --output_dir=b --generator_size=0.5",
            "without --replaced_tokens",
        ),
        (
            "embed",
            '--input_file=a --output_file=b.npy --prompts={"a":"b"}',
            "without --prompt_name",
        ),
    ],
)
def test_a_flag_without_effect_is_refused(command, arguments, message):
    *arguments, last = arguments.split()
    module = importlib.import_module(f"keras_bert.commands.{command}")
    name = last.partition("=")[0]
    message = f"^Error: {name} has no effect {message}"
    with pytest.raises(SystemExit, match=message):
        main.run(command, module, [*arguments, last])


@pytest.mark.parametrize(
    "flag", ["--pooling=max", "--dimensions=8", "--normalize=true"]
)
def test_a_flag_for_vectors_is_refused_beside_layers(flag):
    arguments = "--input_file=a", "--output_file=b.jsonl", "--layers=1", flag
    message = f"^Error: {flag.partition('=')[0]} is for vectors of texts, but"
    with pytest.raises(SystemExit, match=message):
        main.run("embed", embed, arguments)


def test_an_error_of_the_system_names_the_path(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, main.exit_on_wrong_input():
        (tmp_path / "no").read_text()
    assert ended.value.code == (
        f"Error: {tmp_path}/no: No such file or directory; check the path."
    )
