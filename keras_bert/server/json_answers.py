"""The outputs of a model -> the JSON of an answer.

As TensorFlow Serving writes it, and of vectors as OpenAI or
text-embeddings-inference do. Each row becomes JSON by itself, because no other
thread can run meanwhile.
"""

import base64
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from keras_bert.server.refusal import Refusal

Outputs = Mapping[str, np.ndarray]
Values = Mapping[str, Any]  # the fields of the request
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


def write_embeddings(outputs: Outputs, values: Values, size: int) -> str:
    """Returns OpenAI's list: the first `size` numbers of each vector.

    They are scaled to the length of the whole vector.
    """
    vectors = _shortened(outputs, size)
    written: Iterable[Any] = vectors.tolist()
    if values.get("encoding_format") == "base64":
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
    rest = _dump({"model": values["model"], "usage": usage})
    return f'{{"object": "list", "data": {_list(data)}, {rest[1:]}'


def write_vectors(outputs: Outputs, values: Values, size: int) -> str:
    """Returns a list of vectors, of length 1 unless `normalize` is false."""
    check_whole(outputs, values)
    vectors = _shortened(outputs, size)
    is_raw = values.get("normalize") is False
    return _list((vectors if is_raw else _unit(vectors)).tolist())


def write_similarities(outputs: Outputs, values: Values, size: int) -> str:
    """Returns the cosines of the first vector and each other one."""
    check_whole(outputs, values)
    first, *others = _unit(_shortened(outputs, size))
    return _list(np.array(others).dot(first).tolist())


def check_whole(outputs: Outputs, values: Values) -> None:
    """Raises Refusal if a text was cut, and the request has no `truncate`."""
    rows = np.flatnonzero(outputs.get("truncated", ()))
    for row in () if values.get("truncate") else rows:
        raise Refusal(
            f"Text {row + 1} is longer than the model reads; split it, or send "
            '"truncate": true to have its end cut off.',
            413,
        )


def finite(numbers: np.ndarray) -> np.ndarray:
    """Returns numbers that JSON has; raises Refusal if some are not."""
    if not np.isfinite(numbers).all():
        raise Refusal(
            "The model answered with NaN or infinity, which JSON does not "
            "have; check its weights.",
            500,
        )
    return numbers


def _shortened(outputs, size):
    """Returns the first numbers of each vector, with the whole one's length."""
    vectors = finite(outputs["embedding"].astype(np.float32))
    if size == vectors.shape[1]:
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return _unit(vectors[:, :size]) * lengths


def _unit(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


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
    entries = (f"{_dump(name)}: {x}" for name, x in texts.items())
    return f"{{{', '.join(entries)}}}"


def _list(values):
    return f"[{', '.join(map(_dump, values))}]"
