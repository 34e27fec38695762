"""The outputs of a model -> the JSON of an answer.

As TensorFlow Serving writes it, and of embeddings as OpenAI does.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping

import numpy as np

from keras_bert.server.refusal import Refusal

Outputs = Mapping[str, np.ndarray]
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def write_rows(outputs: Outputs) -> str:
    """Returns `predictions`: an object for each row, or its only value."""
    sizes = {name: x.shape[:1] for name, x in outputs.items()}
    if not sizes or () in sizes.values() or len(set(sizes.values())) > 1:
        raise Refusal(
            "The outputs of this signature differ in their first size, so "
            "they have no rows; send 'inputs' instead of 'instances'."
        )
    columns = [_values(x, name, depth=1) for name, x in outputs.items()]
    rows = [_joined(outputs, row) for row in zip(*columns, strict=True)]
    return f'{{"predictions": {_list(rows)}}}'


def write_columns(outputs: Outputs) -> str:
    """Returns `outputs`: an object of all outputs, or the only one."""
    columns = [_values(x, name, depth=0)[0] for name, x in outputs.items()]
    return f'{{"outputs": {_joined(outputs, columns)}}}'


def write_classes(outputs: Outputs, num_rows: int) -> str:
    """Returns `results`: [[label, score], ...] of each row."""
    classes, scores = outputs.get("classes"), outputs.get("scores")
    shapes = {x.shape for x in (classes, scores) if x is not None}
    shape = shapes.pop() if len(shapes) == 1 else ()
    if len(shape) != 2 or shape[0] != num_rows:
        raise Refusal(
            "Expected the outputs classes and scores, or one of them, of "
            "shape: [batch_size num_classes]"
        )
    # A protobuf field that is not set reads as 0, or as "".
    names = _strings(np.full(shape, b"") if classes is None else classes)
    values = _decimals(np.zeros(shape) if scores is None else scores)
    pairs = [_list(pair) for pair in zip(names, values, strict=True)]
    return _results(_nested(pairs, shape, depth=1))


def write_values(outputs: Outputs, num_rows: int) -> str:
    """Returns `results`: the value of each row."""
    values = outputs.get("outputs")
    if values is None or values.shape not in ((num_rows,), (num_rows, 1)):
        raise Refusal(
            "Expected the output outputs of shape: [batch_size] or "
            "[batch_size, 1]"
        )
    return _results(_decimals(values))


def write_embeddings(
    outputs: Outputs, model: str, size: int | None, is_base64: bool
) -> str:
    """Returns OpenAI's list: the first `size` numbers of each vector.

    They are scaled to the length of the whole vector.
    """
    vectors = outputs["embedding"].astype(np.float32)
    if size not in (None, vectors.shape[1]):
        kept = vectors[:, :size]
        lengths = np.linalg.norm(vectors, axis=1) / np.maximum(
            np.linalg.norm(kept, axis=1), 1e-12
        )
        vectors = kept * lengths[:, None]
    if is_base64:
        data = [x.astype("<f4").tobytes() for x in vectors]
        written = [f'"{base64.b64encode(x).decode()}"' for x in data]
    else:
        written = _values(vectors, "embedding", depth=1)
    num_tokens = int(np.sum(outputs.get("num_tokens", 0)))
    usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
    data = [
        f'{{"object": "embedding", "index": {i}, "embedding": {vector}}}'
        for i, vector in enumerate(written)
    ]
    return (
        f'{{"object": "list", "data": {_list(data)}, '
        f'"model": {json.dumps(model)}, "usage": {json.dumps(usage)}}}'
    )


def _values(array, name, depth):
    """Returns the JSON of each part that the first `depth` axes count."""
    return _nested(_scalars(array, name), array.shape, depth)


def _nested(texts, shape, depth):
    for axis in range(len(shape) - 1, depth - 1, -1):
        size = shape[axis]
        texts = [
            _list(texts[i * size : (i + 1) * size])
            for i in range(math.prod(shape[:axis]))
        ]
    return texts


def _scalars(array, name):
    if array.dtype == object:
        if name.endswith("_bytes"):
            data = [base64.b64encode(x).decode() for x in array.ravel()]
            return [f'{{"b64": "{x}"}}' for x in data]
        return _strings(array)
    if array.dtype == bool or np.issubdtype(array.dtype, np.integer):
        return [json.dumps(x) for x in array.ravel().tolist()]
    if array.dtype.kind == "c":
        raise Refusal(f"The output {name!r} is complex; JSON has no such.")
    return _decimals(array)


def _strings(array):
    return [
        json.dumps(x.decode("utf-8", "replace"), ensure_ascii=False)
        for x in array.ravel().tolist()
    ]


def _decimals(array):
    """Writes floats with 6 digits, or more if they would not be the same.

    A whole number ends with .0, so that a reader takes it for a float.
    """
    array = array.ravel()
    if array.dtype != np.float64:
        array = array.astype(np.float32)
    values = array.tolist()
    texts = [f"{x:.6g}" for x in values]
    digits = 17 if array.dtype == np.float64 else 9
    exact = np.array(texts, "S").astype(array.dtype) == array
    for i in np.flatnonzero(~exact & np.isfinite(array)):
        texts[i] = f"{values[i]:.{digits}g}"
    return [
        text if "." in text or "e" in text else _SPECIAL.get(text, f"{text}.0")
        for text in texts
    ]


def _joined(names, values):
    """Returns an object, or its only value."""
    if len(values) == 1:
        return values[0]
    pairs = zip(names, values, strict=True)
    return f"{{{', '.join(f'{json.dumps(name)}: {x}' for name, x in pairs)}}}"


def _results(rows):
    return f'{{"results": {_list(rows)}}}'


def _list(texts):
    return f"[{', '.join(texts)}]"
