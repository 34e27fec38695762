"""JSON values -> arrays and tf.Examples, as TensorFlow Serving reads them."""

from __future__ import annotations

import base64
import json
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

from keras_bert.server.refusal import Refusal

# The largest integer before the first one that the type cannot hold.
_LARGEST_INTEGER = {4: 2**24 - 1, 8: 2**53 - 1}


def to_array(value, spec, name):
    """Returns nested lists as an array of the input's type and shape."""
    array = np.array(value, object)
    values = array.ravel().tolist()
    if not spec.shape.is_compatible_with(array.shape):
        expected = ["?" if size is None else size for size in spec.shape]
        if array.ndim < len(expected) and any(type(x) is list for x in values):
            raise Refusal(
                f"The lists of the input {name!r} differ in length or depth: "
                f"expected shape {expected}."
            )
        raise Refusal(
            f"The input {name!r} has the shape {list(array.shape)}, expected "
            f"{expected}."
        )
    dtype = spec.dtype
    if dtype == tf.string:
        values = [to_bytes(x) for x in values]
    else:
        is_right = _check_of(dtype)
        for x in values:
            if not is_right(x):
                raise _wrong_type(x, dtype)
            if dtype.is_floating:
                _check_lossless(x, max(4, dtype.size))
    return np.array(values, dtype.as_numpy_dtype).reshape(array.shape)


def _check_of(dtype):
    """Returns a function that tells if a value is one of a type."""
    if dtype.is_bool:
        return lambda value: type(value) is bool
    if dtype.is_integer:
        limits = ml_dtypes.iinfo(dtype.as_numpy_dtype)
        low, high = int(limits.min), int(limits.max)
        return lambda value: type(value) is int and low <= value <= high
    if dtype.is_floating:
        return lambda value: type(value) in (int, float)
    raise Refusal(f"An input of type {dtype.name} cannot be JSON.")


def to_bytes(value):
    """Returns the bytes of a string, or of {"b64": ...}."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise Refusal(
                "JSON Parse error: a string has half of a surrogate pair."
            ) from None
    if not is_base64(value):
        raise _wrong_type(value, tf.string)
    text = "".join(value["b64"].split())
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Refusal("Unable to base64 decode") from None


def is_base64(value):
    return (
        isinstance(value, dict)
        and list(value) == ["b64"]
        and isinstance(value["b64"], str)
    )


def _check_lossless(value, bytes_per_number):
    """Raises Refusal if a float of this size cannot hold a number."""
    is_double = bytes_per_number == 8
    largest = float(np.finfo(np.float64 if is_double else np.float32).max)
    if isinstance(value, int):
        largest = _LARGEST_INTEGER[bytes_per_number]
    if abs(value) > largest and value not in (np.inf, -np.inf):
        raise Refusal(
            f"Cannot convert JSON value: {shown(value)} to "
            f"{'double' if is_double else 'float'} without loss of precision."
        )


def to_example(features):
    if not isinstance(features, dict):
        raise Refusal("Example must be JSON object")
    example = tf.train.Example()
    for name, value in features.items():
        to_bytes(name)  # refuses half of a surrogate pair
        values = value if isinstance(value, list) else [value]
        kinds = {_kind(x, name) for x in values}
        if len(kinds) > 1:
            raise Refusal(
                f"Unexpected element type in feature: {name}: it mixes "
                f"{' and '.join(sorted(kinds))}"
            )
        feature = example.features.feature[name]
        if kinds == {"bytes"}:
            feature.bytes_list.value.extend(map(to_bytes, values))
        elif kinds == {"float"}:
            for number in values:
                _check_lossless(number, 4)
            feature.float_list.value.extend(values)
        elif kinds == {"int64"}:
            feature.int64_list.value.extend(map(int, values))  # true is 1
    return example.SerializeToString()


def _kind(value, name):
    if isinstance(value, str) or is_base64(value):
        return "bytes"
    if isinstance(value, float):
        return "float"
    if isinstance(value, int) and -(2**63) <= value < 2**63:  # or a bool
        return "int64"
    raise Refusal(
        f"Feature: {name} has element with unexpected JSON type: {shown(value)}"
    )


def shown(value: Any) -> str:
    """Returns a value as JSON, cut short."""
    if isinstance(value, (dict, list)) and len(value) > 3:
        return f"a JSON {_json_type(value)} of {len(value)} values"
    if isinstance(value, int) and abs(value) > 2**64:
        return "an integer beyond 64 bits"
    try:
        text = json.dumps(value)
    except RecursionError:
        return f"a deeply nested JSON {_json_type(value)}"
    return text if len(text) <= 100 else text[:100] + "..."


def _wrong_type(value, dtype):
    return Refusal(
        f"JSON Value: {shown(value)} Type: {_json_type(value)} is not of "
        f"expected type: {dtype.name}"
    )


def _json_type(value):
    if value is None:
        return "Null"
    names = {bool: "Bool", dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")
