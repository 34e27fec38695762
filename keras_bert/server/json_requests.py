"""The JSON of a request -> a call: a signature, its inputs, what it answers.

Values become arrays and tf.Examples as in TensorFlow Serving.
"""

import base64
import functools
import json
import math
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from keras_bert.predict.function import Spec
from keras_bert.server.json_answers import (
    write_classes,
    write_columns,
    write_rows,
    write_values,
)
from keras_bert.server.refusal import Refusal

shown = reprlib.repr  # a value, cut short
DEFAULT_SIGNATURE = "serving_default"
_EXAMPLES = {"classify": write_classes, "regress": write_values}
# Python's reader of JSON lets no other thread run. It takes 50 ms for these.
_MAX_VALUES = 250_000


class Call(NamedTuple):
    """What the model is asked.

    Attributes:
        name: The name of the signature.
        signature: A `Signature`, or what is called as one.
        columns: Its inputs.
        write: Makes the JSON of the answer from the outputs.
    """

    name: str
    signature: Any
    columns: dict[str, np.ndarray]
    write: Callable[[Mapping[str, np.ndarray]], str]


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


def read_predict(values: Mapping[str, Any], servable: Any) -> Call:
    """Reads TensorFlow Serving's predict."""
    name, signature = _signature(values, servable)
    inputs = signature.inputs
    if ("instances" in values) == ("inputs" in values):
        raise Refusal("Expecting only one of the keys 'inputs' or 'instances'")
    if "instances" in values:
        columns, write = _from_rows(values["instances"], inputs), write_rows
    else:
        columns, write = _from_columns(values["inputs"], inputs), write_columns
    arrays = {x: to_array(columns[x], spec, x) for x, spec in inputs.items()}
    return Call(name, signature, arrays, write)


def read_examples(
    method: str, values: Mapping[str, Any], servable: Any
) -> Call:
    """Reads classify and regress: the context stands before each example."""
    name, signature = _signature(values, servable)
    if signature.method_name != f"tensorflow/serving/{method}":
        raise Refusal(
            "Expected the method_name of the signature to be "
            f"tensorflow/serving/{method}. Was: {signature.method_name}"
        )
    if list(signature.inputs) != ["inputs"]:
        raise Refusal("Expected one input Tensor, named inputs.")
    context = to_example(values["context"]) if "context" in values else b""
    examples = values.get("examples")
    if not isinstance(examples, list) or not examples:
        raise Refusal("Expecting 'examples' value to be a list with a value")
    # Features of protos that follow one another are joined.
    rows = np.array([context + to_example(x) for x in examples], object)
    write = functools.partial(_EXAMPLES[method], num_rows=len(rows))
    return Call(name, signature, {"inputs": rows}, write)


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


def _signature(values, servable):
    name = values.get("signature_name", "")
    name = DEFAULT_SIGNATURE if name == "" else name
    if not isinstance(name, str) or name not in servable.signatures:
        raise Refusal(
            f"Serving signature name: {shown(name)} not found in signature "
            f"def; this model has {', '.join(servable.signatures)}."
        )
    return name, servable.signatures[name]


def _num_values(body):
    """Returns at least the number of values in a body."""
    num_values = sum(map(body.count, (b",", b"[", b"{")))
    if num_values <= _MAX_VALUES:
        return num_values
    # What is in strings does not count. NumPy lets other threads run.
    body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    codes = np.frombuffer(body, np.uint8)
    is_string = np.logical_xor.accumulate(codes == ord('"'))
    return np.count_nonzero(np.isin(codes, list(b",[{")) & ~is_string)


def _from_rows(rows, inputs):
    if not isinstance(rows, list) or not rows:
        raise Refusal("Expecting 'instances' value to be a list with a value")
    if not any(map(_is_object, rows)):
        return _of_one_input(rows, inputs)
    for number, row in enumerate(rows):
        if not _is_object(row) or row.keys() != inputs.keys():
            raise Refusal(
                f"Failed to process element: {number} of 'instances' list. "
                f"{shown(row)} must be an object whose keys are: "
                f"{','.join(inputs)}"
            )
    return {name: [row[name] for row in rows] for name in inputs}


def _from_columns(columns, inputs):
    if not _is_object(columns):
        return _of_one_input(columns, inputs)
    for name in inputs:
        if name not in columns:
            raise Refusal(f"Missing named input: {name} in 'inputs' object.")
    for name in columns.keys() - inputs.keys():
        raise Refusal(
            f"'inputs' has {shown(name)}, but the signature has only the "
            f"inputs {', '.join(inputs)}."
        )
    return columns


def _of_one_input(values, inputs):
    if len(inputs) > 1:
        raise Refusal(
            "Got plain values, but expecting an object as multiple input "
            f"tensors required: {', '.join(inputs)}"
        )
    return dict.fromkeys(inputs, values)


def _is_object(value):
    return isinstance(value, dict) and not is_base64(value)


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
    are_same = map(_is_same, array.tolist(), values)
    if len(array) != len(values) or not all(are_same):
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
