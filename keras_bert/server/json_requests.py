"""The JSON of a request -> a call: a signature, its inputs, what it answers."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from keras_bert.server.json_answers import (
    write_classes,
    write_columns,
    write_embeddings,
    write_rows,
    write_values,
)
from keras_bert.server.json_values import (
    is_base64,
    shown,
    to_array,
    to_bytes,
    to_example,
)
from keras_bert.server.refusal import Refusal

_DEFAULT = "serving_default"
_EMBEDDING = "embedding"
_EXAMPLES = {
    "classify": ("classification signature", write_classes),
    "regress": ("regression signature", write_values),
}
# Python's reader of JSON lets no other thread run. It takes 50 ms for these.
_MAX_VALUES = 250_000


class Call(NamedTuple):
    """What the model is asked.

    Attributes:
        signature: The name of the signature.
        columns: Its inputs.
        write: Makes the JSON of the answer from the outputs.
    """

    signature: str
    columns: dict[str, np.ndarray]
    write: Callable[[Mapping[str, np.ndarray]], str]


def read_json(body: bytes) -> dict[str, Any]:
    """Returns the JSON object in a body."""
    if _num_values(body) > _MAX_VALUES:
        raise Refusal(
            f"The body has more than {_MAX_VALUES} values; send fewer at a "
            "time.",
            413,
        )
    try:
        values = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Refusal(f"JSON Parse error: {_reason(error)}") from None
    if not isinstance(values, dict):
        raise Refusal(f"JSON Value: {shown(values)} Is not object")
    return values


def read_call(route: str, values: Mapping[str, Any], servable: Any) -> Call:
    """Returns what a request to a route asks of a model."""
    if route == "embeddings":
        return _read_embeddings(values, servable)
    name = values.get("signature_name", "")
    if not isinstance(name, str):
        raise Refusal(
            f"JSON Value: {shown(name)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    name = name or _DEFAULT
    signature = servable.signatures.get(name)
    if signature is None:
        raise Refusal(
            f"Serving signature name: {json.dumps(name[:100])} not found in "
            f"signature def; this model has {', '.join(servable.signatures)}."
        )
    if route == "predict":
        return Call(name, *_read_predict(values, signature.inputs))
    return Call(name, *_read_examples(values, signature, route))


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


def _reason(error):
    if isinstance(error, UnicodeDecodeError):
        return (
            f"byte {error.start} of the body is not UTF-8; write bytes that "
            'are not text as {"b64": "..."}.'
        )
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at offset: {error.pos}"
    if isinstance(error, RecursionError):
        return "the body nests too deeply."
    return "the body has a number of thousands of digits."


def _read_predict(values, inputs):
    if ("instances" in values) == ("inputs" in values):
        raise Refusal(
            "Not formatted correctly expecting only one of 'inputs' or "
            "'instances' keys to exist"
            if "inputs" in values
            else "Missing 'inputs' or 'instances' key"
        )
    if "instances" in values:
        columns, write = _from_rows(values["instances"], inputs), write_rows
    else:
        columns, write = _from_columns(values["inputs"], inputs), write_columns
    arrays = {x: to_array(columns[x], spec, x) for x, spec in inputs.items()}
    return arrays, write


def _read_examples(values, signature, method):
    """Reads classify and regress: the context stands before each example."""
    noun, write = _EXAMPLES[method]
    if signature.method_name != f"tensorflow/serving/{method}":
        raise Refusal(
            f"Expected {noun} method_name to be "
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
    return {"inputs": rows}, functools.partial(write, num_rows=len(rows))


def _read_embeddings(values, servable):
    """Reads OpenAI's request.

    One field is not OpenAI's: `prompt_name`, the prompt of the model that
    stands before each text, such as "query". Without it, that is the model's
    default.
    """
    signature = servable.signatures.get(_DEFAULT)
    if (
        signature is None
        or _EMBEDDING not in signature.outputs
        or len(signature.inputs) != 1
    ):
        raise Refusal(
            f"This model has no embeddings: its signature {_DEFAULT} has no "
            f"output {_EMBEDDING}; ask a model that keras-bert "
            "export made of an encoder or of an embedding task."
        )
    if values.get("encoding_format") not in (None, "float", "base64"):
        raise Refusal(
            f"encoding_format is {shown(values['encoding_format'])}, but must "
            "be float or base64."
        )
    texts = values.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    is_list = isinstance(texts, list)
    if not is_list or not texts or any(type(x) is not str for x in texts):
        raise Refusal(
            "input must be a string or a list of strings; "
            + ("it is empty." if texts == [] else "ids of tokens are not read.")
        )
    name, prompt_name = _DEFAULT, values.get("prompt_name")
    prompts = servable.description.get("prompts", {})
    if prompt_name is not None:
        if not isinstance(prompt_name, str) or prompt_name not in prompts:
            raise Refusal(
                f"prompt_name is {shown(prompt_name)}, but this model has the "
                f"prompts {', '.join(prompts) or '(none)'}."
            )
        name = f"embed_{prompt_name}"
    whole = signature.outputs[_EMBEDDING].shape[-1]
    sizes = {*servable.description.get("sizes", []), whole}
    size = values.get("dimensions")
    # 128.0 and true are in {128, 1}, too.
    if size is not None and (type(size) is not int or size not in sizes):
        raise Refusal(
            f"dimensions is {shown(size)}, but must be one of the integers "
            f"{', '.join(map(str, sorted(sizes)))}, for which this model was "
            "trained."
        )
    (input_name,) = signature.inputs
    return Call(
        name,
        {input_name: np.array([to_bytes(text) for text in texts], object)},
        functools.partial(
            write_embeddings,
            model=values["model"],
            size=size,
            is_base64=values.get("encoding_format") == "base64",
        ),
    )


def _from_rows(rows, inputs):
    if not isinstance(rows, list):
        raise Refusal("Excepting 'instances' to be an list/array")
    if not rows:
        raise Refusal("No values in 'instances' array")
    are_objects = [_is_object(row) for row in rows]
    if not are_objects[0]:
        what = "instances is a plain list, but expecting list of objects"
        _check_is_one(inputs, what)
    if len(set(are_objects)) > 1:
        names = (
            ("object", "list") if are_objects[0] else ("value/list", "object")
        )
        raise Refusal(
            "Expecting {} but got {} at item ".format(*names)
            + f"{are_objects.index(not are_objects[0])} of input list"
        )
    if not are_objects[0]:
        return dict.fromkeys(inputs, rows)
    for number, row in enumerate(rows):
        if row.keys() != inputs.keys():
            raise Refusal(
                f"Failed to process element: {number} of 'instances' list. "
                f"JSON object: {shown(list(row))} keys must be equal to: "
                f"{','.join(sorted(inputs))}"
            )
    return {name: [row[name] for row in rows] for name in inputs}


def _from_columns(columns, inputs):
    if not _is_object(columns):
        what = "inputs is a plain value/list, but expecting an object"
        _check_is_one(inputs, what)
        return dict.fromkeys(inputs, columns)
    for name in inputs:
        if name not in columns:
            raise Refusal(f"Missing named input: {name} in 'inputs' object.")
    return columns


def _check_is_one(inputs, what):
    if len(inputs) > 1:
        raise Refusal(
            f"{what} as multiple input tensors required: {', '.join(inputs)}"
        )


def _is_object(value):
    return isinstance(value, dict) and not is_base64(value)
