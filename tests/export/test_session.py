"""Exported models answer alike in Python and in TensorFlow Serving.

TensorFlow Serving runs a graph in a session, and restores its variables by
operations of the graph. Python does neither.
"""

import pytest
from ask_saved_models import ask_function, ask_session
from exported_models import MODELS, largest_difference, make_requests


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if name == "classification" else [pytest.mark.slow]
        )
        for name in MODELS
    ],
)
def test_a_session_gives_the_answers_of_the_function(name, exported):
    folder = exported(name)
    requests = make_requests(folder)
    expected = ask_function(str(folder), requests)
    assert expected.keys() == requests.keys()
    found = ask_session(str(folder), requests)
    assert largest_difference(expected, found) < 1e-5
