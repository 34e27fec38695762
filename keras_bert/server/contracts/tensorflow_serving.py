"""TensorFlow Serving's REST API.

Values become arrays and tf.Examples as in TensorFlow Serving. Errors have
TensorFlow Serving's wording too, so bodies are not checked against the schemas
in openapi.json.
"""

import base64
import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from starlette.requests import Request

from keras_bert.predict.function import Columns, Function, Spec
from keras_bert.server.contract import DEFAULT_SIGNATURE, Call, Contract, Values
from keras_bert.server.contracts import openai
from keras_bert.server.json_values import (
    is_base64,
    shown,
    to_bytes,
    write_json,
    write_list,
    wrong_type,
)
from keras_bert.server.refusal import Refusal
from keras_bert.server.state import ServerState

_Inputs = Mapping[str, Spec]


def _read_predict(values: Values, servable: Any) -> Call:
    name, function = _signature(values, servable)
    inputs = function.inputs
    if ("instances" in values) == ("inputs" in values):
        raise Refusal("Expecting only one of the keys 'inputs' or 'instances'")
    if "instances" in values:
        columns, write = _from_rows(values["instances"], inputs), _write_rows
    else:
        columns, write = _from_columns(values["inputs"], inputs), _write_columns
    arrays = {x: _to_array(columns[x], spec, x) for x, spec in inputs.items()}
    return Call(name, function, arrays, write)


def _read_examples(method: str, values: Values, servable: Any) -> Call:
    """Returns the call for a classify or regress request.

    The features of the body's `context` are added to each example.
    """
    name, function = _signature(values, servable)
    method_name = function.definition["method_name"]
    if method_name != f"tensorflow/serving/{method}":
        raise Refusal(
            "Expected the method_name of the signature to be "
            f"tensorflow/serving/{method}. Was: {method_name}"
        )
    if list(function.inputs) != ["inputs"]:
        raise Refusal("Expected one input Tensor, named inputs.")
    context = _to_example(values["context"]) if "context" in values else b""
    examples = values.get("examples")
    if not isinstance(examples, list) or not examples:
        raise Refusal("Expecting 'examples' value to be a list with a value")
    # Two serialized protos in a row are one proto with the features of both.
    rows = np.array([context + _to_example(x) for x in examples], object)
    write = _write_classes if method == "classify" else _write_values
    write = partial(write, num_rows=len(rows))
    return Call(name, function, {"inputs": rows}, write)


def _status(request: Request, server: ServerState) -> str:
    """Returns the status of all versions of a model, or of one version."""
    name = request.path_params["model"]
    if openai.is_sdk(request):
        model = server.model_named(request, name)
        return json.dumps(openai.describe_model(model.name, server))
    versions, number = [], None
    if name in server.models:
        model, number = server.model_in_path(request)
        versions = [x for x in model.versions() if number in (None, x.number)]
    if not versions:
        what = "any versions" if number is None else f"version {number}"
        raise Refusal(f"Could not find {what} of model {name[:100]}", 404)
    statuses = []
    for x in versions:
        code = "UNKNOWN" if x.error else "OK"
        status = {"error_code": code, "error_message": x.error}
        entry = {"version": str(x.number), "state": x.state, "status": status}
        statuses.append(entry)
    return json.dumps({"model_version_status": statuses})


def _metadata(request: Request, server: ServerState) -> str:
    """Returns a GetModelMetadataResponse as JSON.

    The JSON is the same as TensorFlow Serving's, except that it lacks the key
    "@type", which names the type of the protobuf message.
    """
    model, number = server.model_in_path(request)
    with model.use(number) as version:
        signatures = {
            name: function.definition
            for name, function in version.servable.signatures.items()
        }
        version_name = str(version.number)
    spec = {"name": model.name, "signature_name": "", "version": version_name}
    metadata = {"signature_def": {"signature_def": signatures}}
    return json.dumps({"model_spec": spec, "metadata": metadata})


CONTRACT = Contract(
    {
        "POST /v1/models/{model}:predict": _read_predict,
        "POST /v1/models/{model}:classify": partial(_read_examples, "classify"),
        "POST /v1/models/{model}:regress": partial(_read_examples, "regress"),
        "GET /v1/models/{model}": _status,
        "GET /v1/models/{model}/metadata": _metadata,
    },
    checks_bodies=False,
)


def _to_array(value: Any, spec: Spec, name: str) -> np.ndarray:
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


def _to_example(features: Any) -> bytes:
    """Returns an object of features as a serialized tf.Example."""
    if not isinstance(features, dict):
        raise Refusal("Example must be JSON object")
    # Only the signatures of a SavedModel take a tf.Example.
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
            numbers = _to_numbers(values, np.dtype("float32"))
            feature.float_list.value.extend(numbers)
        elif types <= {int, bool}:
            numbers = _to_numbers([int(x) for x in values], np.dtype("int64"))
            feature.int64_list.value.extend(numbers)
        else:
            raise Refusal(
                f"The feature {name} is {shown(value)}, but must be all "
                "strings, all integers or all decimals."
            )
    return example.SerializeToString()


def _signature(values: Values, servable: Any) -> tuple[str, Function]:
    name = values.get("signature_name", "")
    name = DEFAULT_SIGNATURE if name == "" else name
    if not isinstance(name, str) or name not in servable.signatures:
        raise Refusal(
            f"Serving signature name: {shown(name)} not found in signature "
            f"def; this model has {', '.join(servable.signatures)}."
        )
    return name, servable.signatures[name]


def _from_rows(rows: Any, inputs: _Inputs) -> dict[str, Any]:
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


def _from_columns(columns: Any, inputs: _Inputs) -> dict[str, Any]:
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


def _of_one_input(values: Any, inputs: _Inputs) -> dict[str, Any]:
    if len(inputs) > 1:
        raise Refusal(
            "Got plain values, but expecting an object as multiple input "
            f"tensors required: {', '.join(inputs)}"
        )
    return dict.fromkeys(inputs, values)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not is_base64(value)


def _to_numbers(values: list, dtype: np.dtype) -> np.ndarray:
    types: set[type] = {bool} if dtype.kind == "b" else {int}
    if dtype.kind in "fV":  # V is bfloat16
        types.add(float)
    for value in values:
        if type(value) not in types:
            raise wrong_type(value, dtype)
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


def _is_same(number: float, value: float) -> bool:
    """Returns whether a number equals the JSON value that it was made from.

    If the JSON value is a decimal, the number may be rounded.
    """
    is_rounded = isinstance(value, float) and math.isfinite(number)
    return number == value or is_rounded or not math.isfinite(value)


def _write_rows(outputs: Columns) -> str:
    """Returns `predictions` as JSON: for each row, an object of its outputs.

    If there is only one output, a row has the output itself, not an object.
    """
    sizes = {x.shape[:1] for x in outputs.values()}
    if len(sizes) != 1 or () in sizes:
        raise Refusal(
            "The outputs of this signature differ in the size of their first "
            "dimension, so they have no rows; send 'inputs' instead of "
            "'instances'."
        )
    columns = [map(write_json, _values(x, name)) for name, x in outputs.items()]
    rows = zip(*columns, strict=True)
    objects = [_joined(dict(zip(outputs, row, strict=True))) for row in rows]
    return f'{{"predictions": [{", ".join(objects)}]}}'


def _write_columns(outputs: Columns) -> str:
    """Returns `outputs` as JSON: an object of all outputs.

    If there is only one output, `outputs` is the output itself.
    """
    columns = {}
    for name, array in outputs.items():
        values = _values(array, name)
        columns[name] = write_list(values) if array.ndim else write_json(values)
    return f'{{"outputs": {_joined(columns)}}}'


def _write_classes(outputs: Columns, num_rows: int) -> str:
    """Returns `results` as JSON: for each row, a list of [label, score]."""
    labels, scores = outputs.get("classes"), outputs.get("scores")
    if (
        labels is None
        or scores is None
        or labels.shape != scores.shape
        or labels.shape != (num_rows, labels.size // num_rows)
    ):
        raise Refusal(
            "Expected the outputs classes and scores of shape: "
            "[batch_size num_classes]"
        )
    rows = zip(_values(labels), _values(scores), strict=True)
    pairs = (list(zip(*row, strict=True)) for row in rows)
    return f'{{"results": {write_list(pairs)}}}'


def _write_values(outputs: Columns, num_rows: int) -> str:
    """Returns `results` as JSON: a number for each row."""
    values = outputs.get("outputs")
    if values is None or values.shape not in ((num_rows,), (num_rows, 1)):
        raise Refusal(
            "Expected the output outputs of shape: [batch_size] or "
            "[batch_size, 1]"
        )
    return f'{{"results": {write_list(_values(values.ravel()))}}}'


def _values(array: np.ndarray, name: str = "") -> Any:
    """Returns an array as nested lists of JSON values."""
    if array.dtype != object:
        return array.tolist()
    is_binary = name.endswith("_bytes")

    def read(data: bytes) -> Any:
        if is_binary:
            return {"b64": base64.b64encode(data).decode()}
        return data.decode("utf-8", "replace")

    return np.array(np.frompyfunc(read, 1, 1)(array), object).tolist()


def _joined(texts: dict[str, str]) -> str:
    """Returns JSON values as one JSON object; a single value stays as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    entries = (f"{write_json(name)}: {x}" for name, x in texts.items())
    return f"{{{', '.join(entries)}}}"
