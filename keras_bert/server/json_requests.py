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
_EXAMPLES = {"classify": write_classes, "regress": write_values}
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
        reason = f"The body has more than {_MAX_VALUES} values; send fewer."
        raise Refusal(reason, 413)
    try:
        values = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Refusal(f"JSON Parse error: {error}") from None
    if not isinstance(values, dict):
        raise Refusal(f"JSON Value: {shown(values)} Is not object")
    return values


def read_call(route: str, values: Mapping[str, Any], servable: Any) -> Call:
    """Returns what a request to a route asks of a model."""
    if route == "embeddings":
        return _read_embeddings(values, servable)
    name = values.get("signature_name", "")
    name = _DEFAULT if name == "" else name
    if not isinstance(name, str) or name not in servable.signatures:
        raise Refusal(
            f"Serving signature name: {shown(name)} not found in signature "
            f"def; this model has {', '.join(servable.signatures)}."
        )
    signature = servable.signatures[name]
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


def _read_predict(values, inputs):
    if ("instances" in values) == ("inputs" in values):
        raise Refusal("Expecting only one of the keys 'inputs' or 'instances'")
    if "instances" in values:
        columns, write = _from_rows(values["instances"], inputs), write_rows
    else:
        columns, write = _from_columns(values["inputs"], inputs), write_columns
    arrays = {x: to_array(columns[x], spec, x) for x, spec in inputs.items()}
    return arrays, write


def _read_examples(values, signature, method):
    """Reads classify and regress: the context stands before each example."""
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
    return {"inputs": rows}, write


def _read_embeddings(values, servable):
    """Reads OpenAI's request.

    One field is not OpenAI's: `prompt_name`, the prompt of the model that
    stands before each text, such as "query". Without it, that is the model's
    default.
    """
    prompt_name = values.get("prompt_name")
    name = _DEFAULT if prompt_name is None else f"embed_{prompt_name}"
    signature = servable.signatures.get(name)
    if signature is None and prompt_name is not None:
        prompts = ", ".join(servable.description.get("prompts", []))
        raise Refusal(
            f"prompt_name is {shown(prompt_name)}, but this model has the "
            f"prompts {prompts or '(none)'}."
        )
    if (
        signature is None
        or _EMBEDDING not in signature.outputs
        or len(signature.inputs) != 1
    ):
        raise Refusal(
            f"The signature {name} of this model has no {_EMBEDDING}; export "
            "an encoder or a model of the kind embedding."
        )
    if values.get("encoding_format") not in (None, "float", "base64"):
        found = shown(values["encoding_format"])
        raise Refusal(f"encoding_format is {found}; give float or base64.")
    texts = values.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    is_list = isinstance(texts, list)
    if not is_list or not texts or any(type(x) is not str for x in texts):
        raise Refusal(
            f"input is {shown(texts)}, but must be a string, or a list of "
            "strings that is not empty. Ids of tokens are refused, because a "
            "client makes them with the vocabulary of another model."
        )
    whole = signature.outputs[_EMBEDDING].shape[-1]
    sizes = {*servable.description.get("sizes", []), whole}
    size = values.get("dimensions")
    # 128.0 and true are in {128, 1}, too.
    if size is not None and (type(size) is not int or size not in sizes):
        raise Refusal(
            f"dimensions is {shown(size)}, but this model was trained for one "
            f"of the integers {', '.join(map(str, sorted(sizes)))}."
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
