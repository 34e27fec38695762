"""The JSON of a request -> arrays, as TensorFlow Serving reads it."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.server.refusal import Refusal

# The largest integer before the first one that the type cannot hold.
_LARGEST_INTEGER = {4: 2**24 - 1, 8: 2**53 - 1}
_MAX_RANK = 32  # NumPy has a limit, and so should a request


def read_json(body: bytes) -> dict[str, Any]:
    """Returns the JSON object in a body."""
    try:
        values = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refusal(
            400,
            f"JSON Parse error: byte {error.start} of the body is not UTF-8; "
            'write bytes that are not text as {"b64": "..."}.',
        ) from None
    except json.JSONDecodeError as error:
        raise Refusal(
            400, f"JSON Parse error: {error.msg} at offset: {error.pos}"
        ) from None
    except (RecursionError, ValueError) as error:
        what = "nests too deeply" if isinstance(error, RecursionError) else None
        raise Refusal(
            400,
            "JSON Parse error: the body "
            f"{what or 'has a number of thousands of digits'}.",
        ) from None
    if not isinstance(values, dict):
        raise Refusal(400, f"JSON Value: {shown(values)} Is not object")
    return values


def read_signature_name(values: Mapping[str, Any]) -> str:
    """Returns the signature that a request asks for."""
    name = values.get("signature_name", "")
    if not isinstance(name, str):
        raise Refusal(
            400,
            f"JSON Value: {shown(name)} not formatted correctly. "
            "'signature_name' key must be a string value.",
        )
    return name or "serving_default"


def read_columns(
    values: Mapping[str, Any], inputs: Mapping[str, tf.TensorSpec]
) -> dict[str, np.ndarray]:
    """Returns an array for each input, from `instances` or from `inputs`."""
    if "instances" in values and "inputs" in values:
        raise Refusal(
            400,
            "Not formatted correctly expecting only one of 'inputs' or "
            "'instances' keys to exist",
        )
    if "instances" in values:
        columns = _from_rows(values["instances"], inputs)
    elif "inputs" in values:
        columns = _from_columns(values["inputs"], inputs)
    else:
        raise Refusal(400, "Missing 'inputs' or 'instances' key")
    return {
        name: to_array(columns[name], spec, name)
        for name, spec in inputs.items()
    }


def to_array(value: Any, spec: tf.TensorSpec, name: str) -> np.ndarray:
    """Returns nested lists as an array of the input's type and shape."""
    shape: list[int] = []
    first = value
    while isinstance(first, list) and len(shape) <= _MAX_RANK:
        shape.append(len(first))
        first = first[0] if first else None
    if not spec.shape.is_compatible_with(shape) or len(shape) > _MAX_RANK:
        raise Refusal(
            400,
            f"The input {name!r} has the shape {shape}, expected "
            f"{_shape(spec)}.",
        )
    values = [value]
    for size in shape:
        for part in values:
            if not isinstance(part, list) or len(part) != size:
                raise Refusal(
                    400,
                    f"The lists of the input {name!r} differ in length or "
                    f"depth: expected shape {shape}.",
                )
        values = list(itertools.chain.from_iterable(values))
    convert = _converter(spec.dtype)
    array = np.array([convert(x) for x in values], spec.dtype.as_numpy_dtype)
    return array.reshape(shape)


def read_bytes(value: Any) -> bytes:
    """Returns the bytes of a string, or of {"b64": ...}."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise Refusal(
                400,
                "JSON Parse error: a string has half of a surrogate pair.",
            ) from None
    if not is_base64(value):
        raise _wrong_type(value, tf.string)
    text = "".join(value["b64"].split())
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Refusal(400, "Unable to base64 decode") from None


def is_base64(value: Any) -> bool:
    """Returns whether a value is {"b64": "..."}."""
    return (
        isinstance(value, dict)
        and list(value) == ["b64"]
        and isinstance(value["b64"], str)
    )


def check_lossless(value: float, bytes_per_number: int) -> None:
    """Raises Refusal if a float of this size cannot hold a number."""
    kind = np.float64 if bytes_per_number == 8 else np.float32
    largest = float(np.finfo(kind).max)
    if isinstance(value, int):
        largest = _LARGEST_INTEGER[bytes_per_number]
    if abs(value) > largest and value not in (np.inf, -np.inf):
        raise Refusal(
            400,
            f"Cannot convert JSON value: {shown(value)} to "
            f"{'double' if bytes_per_number == 8 else 'float'} without loss "
            "of precision.",
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


def _from_rows(rows, inputs):
    if not isinstance(rows, list):
        raise Refusal(400, "Excepting 'instances' to be an list/array")
    if not rows:
        raise Refusal(400, "No values in 'instances' array")
    if not _is_object(rows[0]):
        if len(inputs) > 1:
            raise Refusal(
                400,
                "instances is a plain list, but expecting list of objects as "
                f"multiple input tensors required: {', '.join(inputs)}",
            )
        for number, row in enumerate(rows):
            if _is_object(row):
                raise Refusal(
                    400,
                    "Expecting value/list but got object at item "
                    f"{number} of input list",
                )
        return dict.fromkeys(inputs, rows)
    for number, row in enumerate(rows):
        if not _is_object(row):
            raise Refusal(
                400,
                f"Expecting object but got list at item {number} of input list",
            )
        if row.keys() != inputs.keys():
            raise Refusal(
                400,
                f"Failed to process element: {number} of 'instances' list. "
                f"JSON object: {shown(list(row))} keys must be equal to: "
                f"{','.join(sorted(inputs))}",
            )
    return {name: [row[name] for row in rows] for name in inputs}


def _from_columns(columns, inputs):
    if not _is_object(columns):
        if len(inputs) > 1:
            raise Refusal(
                400,
                "inputs is a plain value/list, but expecting an object as "
                f"multiple input tensors required: {', '.join(inputs)}",
            )
        return dict.fromkeys(inputs, columns)
    for name in inputs:
        if name not in columns:
            raise Refusal(
                400, f"Missing named input: {name} in 'inputs' object."
            )
    return columns


def _is_object(value):
    return isinstance(value, dict) and not is_base64(value)


def _converter(dtype):
    if dtype == tf.string:
        return read_bytes
    if dtype.is_bool:
        return lambda value: _checked(value, type(value) is bool, dtype)
    if dtype.is_integer and not dtype.is_quantized:
        low, high = dtype.limits if dtype.size == 1 else (dtype.min, dtype.max)
        return lambda value: _checked(
            value, type(value) is int and low <= value <= high, dtype
        )
    if dtype.is_floating:
        size = max(4, dtype.size)

        def to_float(value):
            _checked(value, type(value) in (int, float), dtype)
            check_lossless(value, size)
            return value

        return to_float
    raise Refusal(400, f"An input of type {dtype.name} cannot be JSON.")


def _checked(value, is_right, dtype):
    if not is_right:
        raise _wrong_type(value, dtype)
    return value


def _wrong_type(value, dtype):
    return Refusal(
        400,
        f"JSON Value: {shown(value)} Type: {_json_type(value)} is not of "
        f"expected type: {dtype.name}",
    )


def _json_type(value):
    if value is None:
        return "Null"
    names = {bool: "Bool", dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")


def _shape(spec):
    if spec.shape.rank is None:
        return "a list"
    return str(["?" if size is None else size for size in spec.shape])
