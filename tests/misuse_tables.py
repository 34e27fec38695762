"""Tables of misuse: what a person may plausibly hand over, and what comes out.

A row has a sentence, a call, and the right answer or a part of the error.
"""

import pytest

from keras_bert.errors import InputError


class Says(str):
    """A part of the sentence that tells the person what to do."""


def cases(*rows):
    return pytest.mark.parametrize(
        ("call", "expected"),
        [
            pytest.param(call, expected, id=name)
            for name, call, expected in rows
        ],
    )


def check(call, given, expected):
    if not isinstance(expected, Says):
        assert call(given) == expected
        return
    with pytest.raises((InputError, OSError)) as error:
        call(given)
    assert expected in str(error.value)
