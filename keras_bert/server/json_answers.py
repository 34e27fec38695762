"""The outputs of a model -> the JSON of an answer.

As TensorFlow Serving writes it, and of embeddings as OpenAI does. Each row
becomes JSON by itself, because no other thread can run meanwhile.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from keras_bert.server.refusal import Refusal

Outputs = Mapping[str, np.ndarray]
_dump = functools.partial(json.dumps, ensure_ascii=False)


def write_rows(outputs: Outputs) -> str:
    """Returns `predictions`: an object for each row, or its only value."""
    sizes = {x.shape[:1] for x in outputs.values()}
    if len(sizes) != 1 or () in sizes:
        raise Refusal(
            "The outputs of this signature differ in their first size, so "
            "they have no rows; send 'inputs' instead of 'instances'."
        )
    columns = [map(_dump, _values(x, name)) for name, x in outputs.items()]
    rows = zip(*columns, strict=True)
    objects = [_joined(dict(zip(outputs, row, strict=True))) for row in rows]
    return f'{{"predictions": [{", ".join(objects)}]}}'


def write_columns(outputs: Outputs) -> str:
    """Returns `outputs`: an object of all outputs, or the only one."""
    columns = {}
    for name, array in outputs.items():
        values = _values(array, name)
        columns[name] = _list(values) if array.ndim else _dump(values)
    return f'{{"outputs": {_joined(columns)}}}'


def write_classes(outputs: Outputs, num_rows: int) -> str:
    """Returns `results`: [[label, score], ...] of each row."""
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
    return f'{{"results": {_list(pairs)}}}'


def write_values(outputs: Outputs, num_rows: int) -> str:
    """Returns `results`: the value of each row."""
    values = outputs.get("outputs")
    if values is None or values.shape not in ((num_rows,), (num_rows, 1)):
        raise Refusal(
            "Expected the output outputs of shape: [batch_size] or "
            "[batch_size, 1]"
        )
    return f'{{"results": {_list(_values(values.ravel()))}}}'


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
    written: Iterable[Any] = vectors.tolist()
    if is_base64:
        rows = vectors.astype("<f4")
        written = [base64.b64encode(x.tobytes()).decode() for x in rows]
    num_tokens = int(np.sum(outputs.get("num_tokens", 0)))
    usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
    data = [
        {"object": "embedding", "index": i, "embedding": vector}
        for i, vector in enumerate(written)
    ]
    if "truncated" in outputs:  # which is not in OpenAI's form
        for row, truncated in zip(data, outputs["truncated"], strict=True):
            row["truncated"] = bool(truncated)
    rest = _dump({"model": model, "usage": usage})
    return f'{{"object": "list", "data": {_list(data)}, {rest[1:]}'


def _values(array, name=""):
    """Returns what JSON can hold, as nested lists."""
    if array.dtype != object:
        return array.tolist()
    read = _base64 if name.endswith("_bytes") else _text
    return np.array(np.frompyfunc(read, 1, 1)(array), object).tolist()


def _base64(data):
    return {"b64": base64.b64encode(data).decode()}


def _text(data):
    return data.decode("utf-8", "replace")


def _joined(texts):
    """Returns an object of JSON, or its only value."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return (
        f"{{{', '.join(f'{_dump(name)}: {x}' for name, x in texts.items())}}}"
    )


def _list(values):
    return f"[{', '.join(map(_dump, values))}]"
