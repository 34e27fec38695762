"""JSON values -> arrays and tf.Examples, as TensorFlow Serving reads them."""

import base64
import math
import reprlib
from typing import Any

import numpy as np

from keras_bert.predict.functions import Spec
from keras_bert.server.refusal import Refusal

shown = reprlib.repr  # a value, cut short


def to_array(value: Any, spec: Spec, name: str) -> np.ndarray:
    """Returns nested lists as an array of the input's type and shape."""
    array = np.array(value, object)
    values = array.ravel().tolist()
    if not spec.fits(array.shape):
        expected = ["?" if size is None else size for size in spec.shape or ()]
        raise Refusal(
            f"The input {name!r} has the shape {list(array.shape)}, expected "
            f"{expected}; lists in a list must have the same length."
        )
    if spec.dtype == object:
        read: Any = np.array([to_bytes(x) for x in values], object)
    else:
        read = _to_numbers(values, spec.dtype)
    return read.reshape(array.shape)


def to_bytes(value: Any) -> bytes:
    """Returns the bytes of a string, or of {"b64": ...}."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise Refusal(
                "JSON Parse error: a string has half of a surrogate pair."
            ) from None
    if not is_base64(value):
        raise _wrong_type(value, np.dtype(object))
    text = "".join(value["b64"].split())
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Refusal("Unable to base64 decode") from None


def is_base64(value: Any) -> bool:
    """Returns whether a value is bytes, as TensorFlow Serving writes them."""
    return (
        isinstance(value, dict)
        and list(value) == ["b64"]
        and isinstance(value["b64"], str)
    )


def to_example(features: Any) -> bytes:
    """Returns a serialized tf.Example of an object of features."""
    if not isinstance(features, dict):
        raise Refusal("Example must be JSON object")
    # Only the signatures of a SavedModel take one.
    import tensorflow as tf

    example = tf.train.Example()
    for name, value in features.items():
        to_bytes(name)  # refuses half of a surrogate pair
        values = value if isinstance(value, list) else [value]
        types = {type(x) for x in values}
        feature = example.features.feature[name]
        if types <= {str, dict}:
            feature.bytes_list.value.extend(map(to_bytes, values))
        elif types == {float}:
            feature.float_list.value.extend(
                _to_numbers(values, np.dtype(np.float32))
            )
        elif types <= {int, bool}:
            integers = [int(x) for x in values]
            numbers = _to_numbers(integers, np.dtype(np.int64))
            feature.int64_list.value.extend(numbers)
        else:
            raise Refusal(
                f"The feature {name} has {shown(value)}; it must be strings, "
                "integers or decimals, and not a mix."
            )
    return example.SerializeToString()


def _to_numbers(values, dtype):
    types = {bool} if dtype.kind == "b" else {int}
    if dtype.kind in "fV":  # V is bfloat16
        types.add(float)
    for value in values:
        if type(value) not in types:
            raise _wrong_type(value, dtype)
    try:
        with np.errstate(over="ignore"):
            array = np.array(values, dtype)
    except OverflowError:
        array = np.array([])
    if len(array) != len(values) or not all(
        map(_is_same, array.tolist(), values)
    ):
        raise Refusal(
            f"Cannot convert JSON values to {dtype.name} without loss of "
            "precision."
        )
    return array


def _is_same(number, value):
    """Returns whether a number is a JSON value; a float may be rounded."""
    is_rounded = isinstance(value, float) and math.isfinite(number)
    return number == value or is_rounded or not math.isfinite(value)


def _wrong_type(value, dtype):
    name = "string" if dtype.kind == "O" else dtype.name
    return Refusal(
        f"JSON Value: {shown(value)} is not of expected type: {name}"
    )
