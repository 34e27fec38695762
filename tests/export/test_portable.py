"""A portable model needs neither tensorflow-text nor this package."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ask_saved_models import ask_function
from exported_models import largest_difference, make_requests

from keras_bert.errors import InputError
from keras_bert.export.config import ExportConfig
from keras_bert.predict.served_model import ServedModel

# Both ways to clean, places of tokens, windows, and a mask in a text.
_MODELS = ("classification cased", "token_classification", "span", "encoder")
_SCRIPT = Path(__file__).parent.parent / "ask_saved_models.py"


@pytest.mark.slow
def test_answers_in_a_new_process(exported, tmp_path):
    requests, expected = {}, {}
    for name in _MODELS:
        usual, portable = exported(name), exported(name, portable=True)
        requests[str(portable)] = make_requests(usual)
        expected[str(portable)] = ask_function(
            str(usual), requests[str(portable)]
        )
    file, answers = tmp_path / "requests.pickle", tmp_path / "answers.pickle"
    file.write_bytes(pickle.dumps(requests))
    done = subprocess.run(
        [sys.executable, "-I", _SCRIPT, file, answers, "portable"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for found in pickle.loads(answers.read_bytes()).values():
        assert largest_difference(expected, found) < 1e-5


@pytest.mark.parametrize(
    "num_texts", [pytest.param(1, marks=pytest.mark.slow), 1000]
)
def test_any_number_of_texts(exported, num_texts):
    texts = ["The quick ÉLAN, 狐!", "", "a film " * 9, "a\x00 \ufffdunaffable"]
    rows = [{"text": texts[i % 4] + f" dog{i}"} for i in range(num_texts)]
    usual, portable = (
        ServedModel(exported("classification", portable=x)).answer(rows)
        for x in (False, True)
    )
    for a, b in zip(usual, portable, strict=True):
        assert a["num_tokens"] == b["num_tokens"]
        scores = ([*x["scores"].values()] for x in (a, b))
        np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("model_format", ["litert", "onnx", "openvino", "auto"])
def test_what_takes_ids_is_refused(model_format):
    message = f"saved_model, but the format is {model_format}; leave out"
    with pytest.raises(InputError, match=message):
        ExportConfig(model_format, portable=True)
