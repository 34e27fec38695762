"""The JSON of a request -> a call: a signature, its inputs, what it answers."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from keras_bert.server.json_answers import (
    write_classes,
    write_columns,
    write_rows,
    write_values,
)
from keras_bert.server.json_values import (
    is_base64,
    shown,
    to_array,
    to_example,
)
from keras_bert.server.refusal import Refusal

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
