"""A version of a model, loaded and warmed up; its signatures take arrays."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert.predict.served_model import load_saved_model
from keras_bert.predict.versions import WARM_UP, read_description
from keras_bert.server.batching import Batcher, Columns, row_bytes
from keras_bert.server.refusal import Refusal

# Texts of up to 32 bytes share a queue, and so do those above 16,384.
_LOG2_BYTES = range(5, 15)
# Rows wait together only if their lists are as long.
_NUM_SHAPES = 4
_MAX_WARMUP_RECORDS = 1000  # the limit of TensorFlow Serving
# Lines of an error that say where the operation was made, not what is wrong.
_PLACE = re.compile(
    r"Graph execution error|Detected at node|<stack traces|\s+File |\s*$"
)
# What TensorFlow Serving answers to errors of TensorFlow; else 500.
_STATUSES = {
    tf.errors.INVALID_ARGUMENT: 400,
    tf.errors.FAILED_PRECONDITION: 400,
    tf.errors.OUT_OF_RANGE: 400,
    tf.errors.PERMISSION_DENIED: 403,
    tf.errors.NOT_FOUND: 404,
    tf.errors.ALREADY_EXISTS: 409,
    tf.errors.ABORTED: 409,
    tf.errors.RESOURCE_EXHAUSTED: 429,
}


class Servable:
    """A SavedModel in memory.

    Attributes:
        signatures: Maps names to a `Signature`.
        definitions: Maps the same names to a SignatureDef.
        description: What `assets/model.json` says; empty if there is none.
    """

    def __init__(self, folder: Path, batcher: Batcher):
        """Loads a SavedModel, and runs its warm-up requests.

        Raises what TensorFlow raises if anything fails.
        """
        content = (folder / "saved_model.pb").read_bytes()
        self.definitions = {
            name: definition
            for graph in saved_model_pb2.SavedModel.FromString(
                content
            ).meta_graphs
            if list(graph.meta_info_def.tags) == [tf.saved_model.SERVING]
            for name, definition in graph.signature_def.items()
        }
        # The model is kept: its variables live only as long as it does.
        self._model = load_saved_model(folder)
        self.signatures = {
            name: Signature(
                function, self.definitions[name].method_name, batcher
            )
            for name, function in self._model.signatures.items()
        }
        self.description = read_description(folder)
        for signature in self.signatures.values():
            signature.warm_up()
        for name, columns in _warm_up_requests(folder / WARM_UP):
            self.signatures[name or "serving_default"].answer(columns)


class Answered(NamedTuple):
    """What the model answered to some rows of a request.

    Attributes:
        rows: Their places in the request.
        outputs: Arrays whose first axis has these rows; but if the signature
            does not answer by row, `rows` are all, and it may have any shape.
        times: See `Batcher`.
    """

    rows: np.ndarray
    outputs: dict[str, np.ndarray]
    times: np.ndarray


class Signature:
    """A signature; rows of requests go through it together if they can.

    They can if it takes strings, and if the answer to a row is the same in
    any batch: apart from padding, which `join` cuts.

    Attributes:
        inputs: Maps names to a tf.TensorSpec.
        outputs: The same for the outputs.
        method_name: The method_name of its SignatureDef.
        is_batched: Whether rows of several requests go together.
    """

    def __init__(self, function: Any, method_name: str, batcher: Batcher):
        self.method_name = method_name
        self.inputs = dict(
            sorted(function.structured_input_signature[1].items())
        )
        self.outputs = dict(sorted(function.structured_outputs.items()))
        self.is_batched = _can_be_batched(self.inputs, self.outputs)
        self._function = function
        self._batcher = batcher
        self._padded: list[str] = []
        self._queues: dict[tuple, int] = {}
        if self.is_batched:
            self._num_queues = len(_LOG2_BYTES)
            if any(spec.shape.rank > 1 for spec in self.inputs.values()):
                self._num_queues *= _NUM_SHAPES
            else:
                self._padded = _of_any_width(self.outputs)
            self._queued = batcher.queued(
                self._call, list(self.inputs.values()), self._num_queues
            )

    def warm_up(self) -> None:
        """Answers an empty text; the first answer takes seconds."""
        if self.is_batched:
            shapes = {x: spec.shape for x, spec in self.inputs.items()}
            empty = {
                name: np.full([size or 1 for size in shape], b"", object)
                for name, shape in shapes.items()
            }
            # Not every signature reads an empty string.
            with contextlib.suppress(tf.errors.OpError):
                self._answer_rows(empty, np.arange(1), 0)

    def parts(self, columns: Columns) -> list[Callable[[], Answered]]:
        """Returns functions that together answer all rows of a request.

        They may run at the same time, and should: each waits for a batch.
        Raises Refusal if the inputs have different numbers of rows.
        """
        sizes = {name: x.shape[:1] for name, x in columns.items()}
        if self.is_batched and len(set(sizes.values())) > 1:
            rows = ", ".join(
                f"{name} {size}" for name, (size,) in sizes.items()
            )
            raise Refusal(f"The inputs differ in their number of rows: {rows}.")
        if not self.is_batched or (0,) in sizes.values():
            return [functools.partial(self._answer_alone, columns)]
        return [
            functools.partial(self._answer_rows, columns, rows, queue)
            for rows, queue in self._split(columns)
        ]

    def join(self, answered: list[Answered]) -> dict[str, np.ndarray]:
        """Returns the outputs of all rows, in the order of the request."""
        outputs = answered[0].outputs
        if len(answered) > 1:
            order = np.argsort(np.concatenate([part.rows for part in answered]))
            outputs = {
                name: _stacked([part.outputs[name] for part in answered])[order]
                for name in self.outputs
            }
        padded = {name: outputs[name] for name in self._padded}
        return {**outputs, **_cut(padded)}

    def answer(self, columns: Columns) -> dict[str, np.ndarray]:
        """Answers all rows of a request, part after part."""
        return self.join([part() for part in self.parts(columns)])

    def _call(self, *tensors):
        outputs = self._function(**dict(zip(self.inputs, tensors, strict=True)))
        return [outputs[name] for name in self.outputs]

    def _split(self, columns) -> Iterator[tuple[np.ndarray, int | None]]:
        """Yields parts of a request: places of rows, and their queue."""
        shape = tuple(columns[name].shape[1:] for name in self.inputs)
        num_bytes = np.sum([row_bytes(columns[x]) for x in self.inputs], axis=0)
        lengths = [(int(n) - 1).bit_length() for n in num_bytes]
        sizes = np.clip(lengths, _LOG2_BYTES[0], _LOG2_BYTES[-1])
        step = self._batcher.max_batch_size
        for size in np.unique(sizes):
            kind = shape, int(size)
            # A queue is of rows of the same shape. A client chooses the
            # shapes, so there may be too many.
            if len(self._queues) < self._num_queues:
                self._queues.setdefault(kind, len(self._queues))
            rows = np.flatnonzero(sizes == size)
            for i in range(0, len(rows), step):
                yield rows[i : i + step], self._queues.get(kind)

    def _answer_rows(self, columns, rows, queue):
        columns = {name: x[rows] for name, x in columns.items()}
        if queue is not None:
            tensors = [tf.constant(columns[name]) for name in self.inputs]
            # An error of whatever type: another row may be to blame.
            with contextlib.suppress(Exception):
                *outputs, times = self._queued(
                    tf.constant(queue, tf.int32), *tensors
                )
                outputs = [x.numpy() for x in outputs]
                outputs = dict(zip(self.outputs, outputs, strict=True))
                return Answered(rows, outputs, times.numpy())
        return self._answer_alone(columns, rows)

    def _answer_alone(self, columns, rows=None):
        outputs, times = self._batcher.call_alone(self._function, columns)
        outputs = {name: outputs[name] for name in self.outputs}
        rows = np.arange(len(times)) if rows is None else rows
        return Answered(rows, outputs, times)


def refusal_of(error: Any) -> Refusal | None:
    """Returns what TensorFlow Serving answers, or None if that is a 5xx."""
    if isinstance(error, UnicodeDecodeError):
        # Python could not read TensorFlow's message, which quotes an input.
        return Refusal(
            "The model cannot read this input; it has bytes that are not UTF-8 "
            "where the model reads text or a tf.Example."
        )
    status = _STATUSES.get(getattr(error, "error_code", None))
    if status is None:
        return None
    lines = error.message.split("\n\t [[")[0].splitlines()
    reason = " ".join(x.strip() for x in lines if not _PLACE.match(x))
    return Refusal(
        f"The model cannot read this input: {reason.strip()[:300]}", status
    )


def _warm_up_requests(file):
    """Yields the signature and the arrays of each request in a file."""
    if not file.is_file():
        return
    from tensorflow_serving.apis import prediction_log_pb2

    records = tf.data.TFRecordDataset(str(file)).take(_MAX_WARMUP_RECORDS)
    for record in records.as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(record)
        kind = log.WhichOneof("log_type")
        if kind not in ("predict_log", "classify_log", "regress_log"):
            continue
        request = getattr(log, kind).request
        if kind == "predict_log":
            columns = {
                name: tf.make_ndarray(tensor)
                for name, tensor in request.inputs.items()
            }
        else:
            examples = getattr(request.input, request.input.WhichOneof("kind"))
            context = b""
            if hasattr(examples, "context"):
                context = examples.context.SerializeToString()
            rows = [context + x.SerializeToString() for x in examples.examples]
            columns = {"inputs": np.array(rows, object)}
        yield request.model_spec.signature_name, columns


def _can_be_batched(inputs, outputs):
    wide = _of_any_width(outputs)
    return (
        bool(inputs)
        and all(
            spec.dtype == tf.string
            and spec.shape.rank in (1, 2)
            and spec.shape[0] is None
            for spec in inputs.values()
        )
        and all(
            spec.shape.rank
            and spec.shape[0] is None
            and None not in spec.shape[2:]
            for spec in outputs.values()
        )
        and (
            any(spec.shape.rank == 2 for spec in inputs.values())
            or not wide
            or any(outputs[name].dtype == tf.string for name in wide)
        )
    )


def _of_any_width(outputs):
    """Returns outputs that are as wide as the widest row of a batch."""
    return [
        name
        for name, spec in outputs.items()
        if spec.shape.rank and spec.shape.rank > 1 and spec.shape[1] is None
    ]


def _stacked(arrays):
    """Joins rows of different widths: "" and 0 are the padding."""
    shape = np.max([x.shape[1:] for x in arrays], axis=0, initial=0)
    padded = []
    for array in arrays:
        missing = [(0, size) for size in shape - array.shape[1:]]
        fill = b"" if array.dtype == object else 0
        padded.append(np.pad(array, [(0, 0), *missing], constant_values=fill))
    return np.concatenate(padded)


def _cut(outputs):
    """Drops the last columns that are padding in all outputs of their width.

    Other rows of the batch, of another request, may have been wider.
    """
    used: dict[int, int] = {}
    for array in outputs.values():
        is_filled = array.astype(bool)  # not "", not 0
        axes = tuple(i for i in range(array.ndim) if i != 1)
        columns = np.flatnonzero(is_filled.any(axis=axes))
        width = array.shape[1]
        used[width] = max(used.get(width, 0), *(columns + 1), 0)
    return {name: x[:, : used[x.shape[1]]] for name, x in outputs.items()}
