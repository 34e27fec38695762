"""Python functions that tf.data calls in the background.

tf.data calls them before their results are asked for. A call that begins when
Python has ended never returns. The deletion of the dataset waits for the call,
so the process hangs (TensorFlow 2.21). So all calls end before Python does.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

_calls = itertools.count()
_is_ending = False


def in_background(
    function: Callable[..., Any], dtypes: Sequence[tf.DType]
) -> Callable[..., list[tf.Tensor]]:
    """Returns an operation for `Dataset.map` that calls a function of arrays.

    The function returns arrays of these dtypes.
    """

    @functools.wraps(function)
    def call(*arrays):
        next(_calls)
        if _is_ending:
            raise InterruptedError("Python is ending.")
        return function(*arrays)

    return lambda *tensors: tf.numpy_function(
        call, tensors, dtypes, stateful=False
    )


@atexit.register
def _end_calls():
    """Makes the next calls fail, until tf.data has no room for more results."""
    global _is_ending
    _is_ending = True
    before = -1
    # Each round counts as a call itself.
    while before + 1 != (before := next(_calls)):
        time.sleep(0.05)
