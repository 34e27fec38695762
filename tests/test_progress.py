"""What a user sees of a run: log lines and progress, where they should be."""

import contextlib
import io
import logging
import runpy
import subprocess
import sys
import warnings

import pytest
from absl import flags
from absl import logging as absl_logging

from keras_bert import progress
from keras_bert.config import BertConfig
from keras_bert.progress import Progress, shown_log

# A config with a key that does not shape the network: one line that informs.
VALUES = {"vocab_size": 31, "pooler_type": "first_token_transform"}
LINE = "Ignored in the model config: pooler_type"


ABSL = logging.getLogger("absl")


@contextlib.contextmanager
def not_set_up():
    """The logging of a new program; pytest sets it up before each test."""
    verbosity = flags.FLAGS["verbosity"]
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, value in (
            (logging.root, "handlers", []),
            (logging.root, "level", logging.WARNING),
            (ABSL, "handlers", []),
            (ABSL, "level", logging.NOTSET),
            (verbosity, "_value", -1),
            (verbosity, "using_default_value", True),
        ):
            patch.setattr(owner, name, value)
        logging.root.setLevel("WARNING")  # forgets which levels are enabled
        yield
    logging.root.setLevel(logging.root.level)


def _state():
    return ABSL.level, ABSL.propagate, ABSL.handlers[:]


@not_set_up()
def test_lines_are_shown_for_the_time_of_a_run(capsys):
    before = _state()
    run = shown_log()(BertConfig.from_dict)
    for _ in range(2):
        run(VALUES)
        err = capsys.readouterr().err
        assert err.startswith("I") and err.endswith(f"] {LINE}\n")
        assert err.count("\n") == 1
        assert _state() == before
    BertConfig.from_dict(VALUES)
    with pytest.raises(OSError), shown_log():
        raise OSError
    assert _state() == before
    assert capsys.readouterr().err == ""


@not_set_up()
def test_what_is_not_shown_or_shown_twice(capsys):
    with shown_log(), shown_log():
        absl_logging.info("another library informs")
        logging.warning("a library that sets up the root")
        absl_logging.warning("a warning")
        BertConfig.from_dict(VALUES)
    err = capsys.readouterr().err
    assert err.count(LINE) == err.count("a warning") == 1
    assert "informs" not in err


def _as_scripts_do():
    absl_logging.use_absl_handler()
    absl_logging.set_verbosity("info")


@pytest.mark.parametrize(
    ("set_up", "count"),
    [
        (lambda: logging.basicConfig(level="ERROR"), 0),
        (lambda: logging.basicConfig(level="INFO"), 1),
        (lambda: logging.basicConfig(format="%(message)s"), 0),
        (lambda: absl_logging.set_verbosity("warning"), 0),
        (lambda: ABSL.addHandler(logging.StreamHandler()), 0),
        (_as_scripts_do, 1),
    ],
)
@not_set_up()
def test_what_a_program_has_set_up_stays(capsys, monkeypatch, set_up, count):
    handler = absl_logging.get_absl_handler().python_handler
    monkeypatch.setattr(handler, "stream", sys.stderr)  # it has an earlier one
    set_up()
    before = _state()
    with shown_log():
        BertConfig.from_dict(VALUES)
    assert _state() == before
    assert capsys.readouterr().err.count(LINE) == count


class _Terminal(io.StringIO):
    def isatty(self):
        return True


class _Notebook(io.StringIO):
    __module__ = "ipykernel.iostream"


@pytest.mark.parametrize("stream", [_Terminal, _Notebook])
@not_set_up()
def test_a_bar_and_lines_above_it(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    with Progress("Outer", 9) as outer:
        outer.update(3, loss=0.25)
        with Progress("Inner", 2) as inner:
            inner.update(2)
            BertConfig.from_dict(VALUES)
    text = sys.stderr.getvalue().replace("\r", "\n")
    lines = text.replace("\x1b[A", "").splitlines()  # which moves up
    assert any(line.endswith(LINE) and line[0] == "I" for line in lines)
    assert any(line.startswith("Inner: 100%") for line in lines)
    assert "Outer:  33%" in lines[-1] and "loss=0.25" in lines[-1]


@not_set_up()
def test_a_file_gets_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    with Progress("Reading", 9, "rows") as reading:
        reading.update(3, loss=0.25)
        reading.update(3, loss=0.125)
    first, line = capsys.readouterr().err.splitlines()
    assert first.startswith("I")
    # The first update includes tracing, so its line has no speed.
    assert first.endswith("Reading: 3 of 9 rows, loss 0.25")
    assert "Reading: 6 of 9 rows, loss 0.125, " in line
    assert line.endswith(" left")
    with Progress("Reading", 9, "rows"):
        pass
    assert capsys.readouterr().err == ""


def test_a_notebook_without_widgets_gets_no_warning(monkeypatch):
    for name in ("tqdm.auto", "tqdm.autonotebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("ipykernel.zmqshell", "IPython"):
        monkeypatch.setitem(sys.modules, name, _FakeIPython)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # is not installed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = runpy.run_path(progress.__file__)
    assert not caught
    with module["Progress"]("Reading", 9) as reading:
        reading.update(9)


class _FakeIPython:
    __spec__ = None

    @staticmethod
    def get_ipython():
        return None


def test_a_program_of_one_line():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from keras_bert.config import BertConfig\n"
            "from keras_bert.progress import shown_log\n"
            f"shown_log()(BertConfig.from_dict)({VALUES})",
        ],
        capture_output=True,
        text=True,
    )
    assert done.stderr.endswith(f"] {LINE}\n"), done.stderr
