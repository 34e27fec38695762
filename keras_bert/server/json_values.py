"""The JSON of a body -> values; values -> the JSON of an answer."""

import base64
import functools
import json
import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_bert.server.refusal import Refusal

shown = reprlib.repr  # returns the start of a value's repr
write_json = functools.partial(json.dumps, ensure_ascii=False)
# Python reads this many values in 50 ms. Meanwhile, no other thread can run.
_MAX_VALUES = 250_000


def read_json(body: bytes) -> dict[str, Any]:
    """Returns the JSON object in a body."""
    if _num_values(body) > _MAX_VALUES:
        reason = f"The body has more than {_MAX_VALUES} values; send fewer."
        raise Refusal(reason, 413)
    try:
        values = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Refusal(f"JSON Parse error: {error}") from None
    if not isinstance(values, dict):
        raise Refusal(f"JSON Value: {shown(values)} Is not object")
    return values


def to_bytes(value: Any) -> bytes:
    """Returns the bytes of a string, or of {"b64": ...}."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise Refusal(
                "JSON Parse error: a string contains half of a surrogate "
                "pair (broken Unicode); fix the text."
            ) from None
    if not is_base64(value):
        raise wrong_type(value, np.dtype(object))
    text = "".join(value["b64"].split())
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Refusal("Unable to base64 decode") from None


def is_base64(value: Any) -> bool:
    """Returns whether a value is {"b64": ...}, which stands for bytes."""
    return (
        isinstance(value, dict)
        and list(value) == ["b64"]
        and isinstance(value["b64"], str)
    )


def wrong_type(value: Any, dtype: np.dtype) -> Refusal:
    name = "string" if dtype.kind == "O" else dtype.name
    return Refusal(
        f"JSON Value: {shown(value)} is not of expected type: {name}"
    )


def check_finite(numbers: np.ndarray) -> np.ndarray:
    """Returns the numbers; raises Refusal if one is NaN or infinite."""
    if not np.isfinite(numbers).all():
        raise Refusal(
            "The model answered with NaN or infinity, which JSON cannot "
            "express; check the weights of the model.",
            500,
        )
    return numbers


def write_list(values: Iterable[Any]) -> str:
    """Returns a list as JSON.

    No other thread can run while Python writes JSON. So each value is written
    separately, and other threads can run in between.
    """
    return f"[{', '.join(map(write_json, values))}]"


def _num_values(body: bytes) -> int:
    """Returns an upper bound on the number of values in a body."""
    num_values = sum(map(body.count, (b",", b"[", b"{")))
    if num_values <= _MAX_VALUES:
        return num_values
    # Commas and brackets in strings do not count. NumPy lets other threads run.
    body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    codes = np.frombuffer(body, np.uint8)
    is_string = np.logical_xor.accumulate(codes == ord('"'))
    return int(np.count_nonzero(np.isin(codes, list(b",[{")) & ~is_string))
