"""Exported models load and answer alike in releases of TensorFlow from 2.12 on.

With `-s`, a table is printed: the versions of tensorflow and tensorflow-text,
and the largest difference in Python and in a session. Portable models are asked
before tensorflow-text is there. Each release is installed in an environment of
its own, which needs a network, and 2 GB of disk for a while.
"""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from exported_models import (
    MODELS,
    is_variant,
    largest_difference,
    make_requests,
)

pytestmark = pytest.mark.slow

_SCRIPT = Path(__file__).parent.parent / "ask_saved_models.py"


_USUAL = [name for name in MODELS if not is_variant(name)]
# Places of tokens, windows, and a mask in a text.
_PORTABLE = ["token_classification", "span", "encoder"]


@pytest.fixture(scope="module")
def requests(exported, tmp_path_factory):
    """Files with the requests to usual models, and to portable ones."""
    files = []
    for names, portable in ((_USUAL, False), (_PORTABLE, True)):
        folders = [exported(name, portable=portable) for name in names]
        file = tmp_path_factory.mktemp("requests") / "requests.pickle"
        requests = {str(x): make_requests(x) for x in folders}
        file.write_bytes(pickle.dumps(requests))
        files.append(file)
    return files


@pytest.fixture(scope="module")
def expected(requests):
    answers, _ = _ask(sys.executable, requests[0])
    return dict(zip(_USUAL, answers["ask_function"].values(), strict=True))


# The oldest, the last with Keras 2, the first with Keras 3, the last but ours.
@pytest.mark.parametrize("release", ["2.12", "2.15", "2.16", "2.20"])
def test_the_answers_of_a_release(release, requests, expected, capfd):
    usual, portable = requests
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "bin", "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
        _run_or_skip([*pip, f"tensorflow-cpu=={release}.*"])
        of_portable = _ask(python, portable, "portable")
        _run_or_skip(
            # tensorflow-text asks for tensorflow, which is three times as large
            # as tensorflow-cpu. Old releases import tensorflow_hub.
            [*pip, "--no-deps", f"tensorflow-text=={release}.*"],
            [*pip, "--no-deps", "tensorflow-hub<0.16"],
            # Some releases lack symbols.
            [python, "-c", "import tensorflow_text"],
        )
        of_usual = _ask(python, usual)
    for names, (answers, versions) in (
        (_PORTABLE, of_portable),
        (_USUAL, of_usual),
    ):
        wanted = [expected[name] for name in names]
        in_python, in_session = (
            largest_difference(wanted, [*answers[way].values()])
            for way in ("ask_function", "ask_session")
        )
        with capfd.disabled():
            print(f"\n| {versions} | {in_python:.0e} | {in_session:.0e} |")
        assert max(in_python, in_session) < 1e-5


def _run_or_skip(*commands):
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(done.stderr.strip().splitlines()[-1])


def _ask(python, requests, *more):
    """Returns the answers, and the versions that gave them."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder, "answers.pickle")
        done = subprocess.run(
            # Isolated: without keras_bert.
            [python, "-I", _SCRIPT, requests, answers, *more],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return pickle.loads(answers.read_bytes()), done.stdout.splitlines()[-1]
