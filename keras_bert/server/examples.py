"""Classify and regress: JSON features -> tf.Example; outputs -> results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.server.json_answers import decimals, strings
from keras_bert.server.json_requests import (
    check_lossless,
    is_base64,
    read_bytes,
    shown,
)
from keras_bert.server.refusal import Refusal

METHODS = {
    "classify": "tensorflow/serving/classify",
    "regress": "tensorflow/serving/regress",
}


def read_examples(values: Mapping[str, Any]) -> np.ndarray:
    """Returns each of the `examples`, with the `context`, serialized."""
    context = b""
    if "context" in values:
        context = _to_example(values["context"])
    examples = values.get("examples")
    if not isinstance(examples, list) or not examples:
        raise Refusal(
            400, "Expecting 'examples' value to be a list with a value"
        )
    # Features of protos that follow one another are joined.
    return np.array([context + _to_example(x) for x in examples], object)


def check_method(method: str, signature: Any) -> None:
    """Raises Refusal if a signature is not made for `method`."""
    if signature.method_name != METHODS[method]:
        expected = {
            "classify": "Expected classification signature method_name",
            "regress": "Expected regression signature method_name",
        }
        raise Refusal(
            400,
            f"{expected[method]} to be {METHODS[method]}. "
            f"Was: {signature.method_name}",
        )
    if list(signature.inputs) != ["inputs"]:
        raise Refusal(400, "Expected one input Tensor, named inputs.")


def write_classes(outputs: Mapping[str, np.ndarray], rows: int) -> list[str]:
    """Returns [[label, score], ...] of each row."""
    classes, scores = outputs.get("classes"), outputs.get("scores")
    found = [x for x in (classes, scores) if x is not None]
    shapes = {x.shape for x in found}
    if len(shapes) != 1 or found[0].ndim != 2 or len(found[0]) != rows:
        raise Refusal(
            400,
            "Expected the outputs classes and scores, or one of them, of "
            "shape: [batch_size num_classes]",
        )
    (shape,) = shapes
    size = shape[0] * shape[1]
    names = ['""'] * size if classes is None else strings(classes)
    # A protobuf field that is not set reads as 0.
    values = decimals(np.zeros(size) if scores is None else scores)
    pairs = [f"[{n}, {v}]" for n, v in zip(names, values, strict=True)]
    return [
        f"[{', '.join(pairs[i * shape[1] : (i + 1) * shape[1]])}]"
        for i in range(rows)
    ]


def write_values(outputs: Mapping[str, np.ndarray], rows: int) -> list[str]:
    """Returns the value of each row."""
    values = outputs.get("outputs")
    if values is None or values.shape not in ((rows,), (rows, 1)):
        raise Refusal(
            400,
            "Expected the output outputs of shape: [batch_size] or "
            "[batch_size, 1]",
        )
    return decimals(values)


def _to_example(features):
    if not isinstance(features, dict):
        raise Refusal(400, "Example must be JSON object")
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                _name(name): _to_feature(value, name)
                for name, value in features.items()
            }
        )
    ).SerializeToString()


def _name(name):
    read_bytes(name)  # refuses half of a surrogate pair
    return name


def _to_feature(value, name):
    values = value if isinstance(value, list) else [value]
    kinds = {_kind(x, name) for x in values}
    if len(kinds) > 1:
        raise Refusal(
            400,
            f"Unexpected element type in feature: {name}: it mixes "
            f"{' and '.join(sorted(kinds))}",
        )
    if kinds == {"bytes"}:
        return tf.train.Feature(
            bytes_list=tf.train.BytesList(value=map(read_bytes, values))
        )
    if kinds == {"float"}:
        for number in values:
            check_lossless(number, 4)
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if kinds == {"int64"}:
        whole = map(int, values)  # a bool is 0 or 1
        return tf.train.Feature(int64_list=tf.train.Int64List(value=whole))
    return tf.train.Feature()


def _kind(value, name):
    if isinstance(value, str) or is_base64(value):
        return "bytes"
    if isinstance(value, float):
        return "float"
    if isinstance(value, int) and -(2**63) <= value < 2**63:  # or a bool
        return "int64"
    raise Refusal(
        400,
        f"Feature: {name} has element with unexpected JSON type: "
        f"{shown(value)}",
    )
