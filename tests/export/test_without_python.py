"""A C program asks exported models; no Python is there when it runs."""

import shutil
import subprocess
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_text
from exported_models import MODELS, is_variant, largest_difference
from tensorflow.core.protobuf import saved_model_pb2

pytestmark = pytest.mark.slow

_SOURCE = Path(__file__).parent / "ask.c"
_OPERATIONS = Path(tensorflow_text.__file__).parent / "python" / "ops"
_LIBRARIES = [
    _OPERATIONS / f"_{name}.so"
    for name in ("fast_wordpiece_tokenizer", "normalize_ops", "regex_split_ops")
]
_TEXTS = [
    "The quick brown fox jumped over a lazy dog.",
    "Was the film good, or very bad?",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc here")
    program = tmp_path_factory.mktemp("program") / "ask"
    libraries = tf.sysconfig.get_lib()
    _run(
        "gcc",
        _SOURCE,
        f"-I{tf.sysconfig.get_include()}",
        f"-L{libraries}",
        f"-Wl,-rpath,{libraries}",
        "-l:libtensorflow_cc.so.2",
        "-l:libtensorflow_framework.so.2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        program,
    )
    return program


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MODELS
        # ask.c has no lists of texts.
        if name != "multiple_choice" and not is_variant(name)
    ],
)
@pytest.mark.parametrize("portable", [False, True])
def test_a_sentence_is_answered_as_in_python(name, portable, program, exported):
    folder = exported(name, portable=portable)
    signature = _signature(folder)
    texts = dict(zip(sorted(signature.inputs), _TEXTS, strict=False))
    asked = [f"{signature.inputs[x].name}={texts[x]}" for x in texts]
    outputs = sorted(signature.outputs)
    names = [signature.outputs[x].name for x in outputs]
    libraries = [] if portable else _LIBRARIES
    printed = _run(program, folder, *libraries, *asked, *names).splitlines()

    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    answer = serve(**{name: tf.constant([texts[name]]) for name in texts})
    assert len(printed) == len(outputs)
    for output, line in zip(outputs, printed, strict=True):
        values = answer[output].numpy().ravel().tolist()
        printed_values = line.split("\t") if values else []
        found = [
            _parse(text, value)
            for text, value in zip(printed_values, values, strict=True)
        ]
        assert largest_difference(values, found) < 1e-5


def _parse(text, value):
    """Returns a printed value in the type of the value in Python."""
    if isinstance(value, bytes):
        return text.encode()
    return type(value)(float(text))


def _signature(folder):
    saved_model = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    (meta_graph,) = saved_model.meta_graphs
    return meta_graph.signature_def["serving_default"]


def test_what_is_wrong_is_an_error(program, exported, tmp_path):
    for arguments, message in (
        ([], "give the folder of an exported model"),
        ([tmp_path], "Could not find SavedModel"),
        ([exported("regression")], "not registered"),
        ([exported("regression"), *_LIBRARIES, "other:0"], "no such tensor"),
    ):
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert message in done.stderr


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
