"""Arrays -> the JSON of an answer, as TensorFlow Serving writes it."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.server.refusal import Refusal


def write_rows(outputs: Mapping[str, np.ndarray]) -> str:
    """Returns `predictions`: an object for each row, or its only value."""
    sizes = {name: x.shape[:1] for name, x in outputs.items()}
    if not sizes or () in sizes.values() or len(set(sizes.values())) > 1:
        raise Refusal(
            400,
            "The outputs of this signature differ in their first size, so "
            "they have no rows; send 'inputs' instead of 'instances'.",
        )
    columns = [_values(x, name, depth=1) for name, x in outputs.items()]
    if len(columns) == 1:
        rows = columns[0]
    else:
        names = [json.dumps(name) for name in outputs]
        rows = [_object(names, row) for row in zip(*columns, strict=True)]
    return f'{{"predictions": [{", ".join(rows)}]}}'


def write_columns(outputs: Mapping[str, np.ndarray]) -> str:
    """Returns `outputs`: an object of all outputs, or the only one."""
    columns = [_values(x, name, depth=0)[0] for name, x in outputs.items()]
    names = [json.dumps(name) for name in outputs]
    value = columns[0] if len(columns) == 1 else _object(names, columns)
    return f'{{"outputs": {value}}}'


def write_results(rows: Sequence[str]) -> str:
    """Returns the `results` of classify and regress."""
    return f'{{"results": [{", ".join(rows)}]}}'


def decimals(array: np.ndarray) -> list[str]:
    """Writes floats with 6 digits, or more if they would not be the same.

    A whole number ends with .0, so that a reader takes it for a float.
    """
    array = array.reshape(-1)
    if array.dtype != np.float64:
        array = array.astype(np.float32)
    values = array.tolist()
    texts = [f"{x:.6g}" for x in values]
    digits = 17 if array.dtype == np.float64 else 9
    exact = np.array(texts, "S").astype(array.dtype) == array
    for i in np.flatnonzero(~exact & np.isfinite(array)):
        texts[i] = f"{values[i]:.{digits}g}"
    return [_decimal(text) for text in texts]


def strings(array: np.ndarray) -> list[str]:
    """Writes strings as JSON."""
    return [
        json.dumps(x.decode("utf-8", "replace"), ensure_ascii=False)
        for x in array.reshape(-1).tolist()
    ]


def _decimal(text):
    if text in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    return text if "." in text or "e" in text else f"{text}.0"


def _values(array, name, depth):
    """Returns the JSON of each part that the first `depth` axes count."""
    texts = _scalars(array, name)
    for axis in range(array.ndim - 1, depth - 1, -1):
        size = array.shape[axis]
        texts = [
            f"[{', '.join(texts[i * size : (i + 1) * size])}]"
            for i in range(math.prod(array.shape[:axis]))
        ]
    return texts


def _scalars(array, name):
    if array.dtype == object:
        if name.endswith("_bytes"):
            return [
                f'{{"b64": "{base64.b64encode(x).decode()}"}}'
                for x in array.reshape(-1).tolist()
            ]
        return strings(array)
    if array.dtype == bool:
        return ["true" if x else "false" for x in array.reshape(-1).tolist()]
    if np.issubdtype(array.dtype, np.integer):
        return [str(x) for x in array.reshape(-1).tolist()]
    if array.dtype.kind == "c":
        raise Refusal(400, f"The output {name!r} is complex; JSON has no such.")
    return decimals(array)


def _object(names, values):
    pairs = zip(names, values, strict=True)
    return f"{{{', '.join(f'{name}: {value}' for name, value in pairs)}}}"
