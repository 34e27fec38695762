"""Rows of many requests go through the model together.

The batcher is TensorFlow's own, the one of tf.nondifferentiable_batch_function.
That function makes new threads for each function that it wraps; the operation
beneath it lets all signatures of all models share the same few.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.server.config import ServerConfig

Columns = Mapping[str, np.ndarray]
# Texts of up to 32 bytes share a queue, and so do those above 16,384.
_LOG2_BYTES = range(5, 15)
# Rows wait together only if their lists are as long.
_NUM_SHAPES = 4


class Answered(NamedTuple):
    """What the model answered to some rows of a request.

    Attributes:
        rows: Their places in the request.
        outputs: Arrays whose first axis has these rows; but if the signature
            does not answer by row, `rows` are all, and it may have any shape.
        times: float64 [rows, 4]: when the batch started and ended, in seconds
            since 1970, the row's place in the batch, and the batch's size.
    """

    rows: np.ndarray
    outputs: dict[str, np.ndarray]
    times: np.ndarray


class Batcher:
    """Calls functions, as many at a time as there are batch threads."""

    def __init__(self, config: ServerConfig):
        self.max_batch_size = config.max_batch_size
        self._turn = threading.Semaphore(config.num_batch_threads)
        self._options: dict[str, Any] = {
            "num_batch_threads": config.num_batch_threads,
            "max_batch_size": config.max_batch_size,
            "batch_timeout_micros": round(1000 * config.batch_timeout_ms),
            # The server itself limits what waits.
            "max_enqueued_batches": 1_000_000,
            "enable_large_batch_splitting": False,
        }
        # A process has one set of threads for each set of options.
        self._options["shared_name"] = "/".join(
            map(str, ["keras_bert", *self._options.values()])
        )

    def wait_in(self, queue: str, function, tensors: list) -> list:
        """Adds an operation that calls a ConcreteFunction on a whole batch."""
        return tf.raw_ops.BatchFunction(
            in_tensors=tensors,
            captured_tensors=function.captured_inputs,
            f=function,
            Tout=[output.dtype for output in function.outputs],
            batching_queue=queue,
            **self._options,
        )

    def call_alone(self, function, columns: Columns) -> tuple[dict, np.ndarray]:
        """Calls a signature on all rows of a request; returns outputs, times"""
        with self._turn:
            start = time.time()
            outputs = function(
                **{name: tf.constant(x) for name, x in columns.items()}
            )
            outputs = {name: x.numpy() for name, x in outputs.items()}
            end = time.time()
        size = num_rows(columns)
        times = np.empty([size, 4])
        times[:, 0], times[:, 1] = start, end
        times[:, 2], times[:, 3] = np.arange(size), size
        return outputs, times


class BatchedFunction:
    """A signature whose rows are answered together with those of others.

    Args:
        function: The signature. All its inputs are strings.
        key: No other function of the process has it.
    """

    def __init__(self, function, inputs, outputs, key: str, batcher: Batcher):
        self._function = function
        self._inputs = dict(inputs)
        self._outputs = list(outputs)
        self._batcher = batcher
        self._queues: dict[tuple, int] = {}
        self._num_queues = len(_LOG2_BYTES)
        if any(spec.shape.rank > 1 for spec in inputs.values()):
            self._num_queues *= _NUM_SHAPES
        timed = tf.function(
            self._with_times,
            input_signature=list(inputs.values()),
            autograph=False,
        ).get_concrete_function()
        # One function for all queues, because TensorFlow optimizes the graph
        # of the model again for each function that calls it.
        self._queued = tf.function(
            lambda queue, *tensors: tf.switch_case(
                queue,
                [
                    functools.partial(
                        batcher.wait_in, f"{key}/{i}", timed, list(tensors)
                    )
                    for i in range(self._num_queues)
                ],
            ),
            input_signature=[tf.TensorSpec([], tf.int32), *inputs.values()],
            autograph=False,
        ).get_concrete_function()

    def split(self, columns: Columns) -> list[tuple[np.ndarray, int | None]]:
        """Returns parts of a request: places of rows, and their queue."""
        shape = tuple(columns[name].shape[1:] for name in self._inputs)
        num_bytes = sum(_row_bytes(columns[name]) for name in self._inputs)
        lengths = [(int(n) - 1).bit_length() for n in num_bytes]
        sizes = np.clip(lengths, _LOG2_BYTES[0], _LOG2_BYTES[-1])
        parts = []
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            queue = self._queue((shape, int(size)))
            step = self._batcher.max_batch_size
            parts += [
                (rows[i : i + step], queue) for i in range(0, len(rows), step)
            ]
        return parts

    def warm_up(self) -> None:
        """Answers an empty text; the first answer takes seconds."""
        empty = {
            name: np.full([size or 1 for size in spec.shape], b"", object)
            for name, spec in self._inputs.items()
        }
        # Not every signature reads an empty string.
        with contextlib.suppress(tf.errors.OpError):
            self.call(empty, 0)

    def call(self, columns: Columns, queue: int | None):
        """Answers rows; returns outputs and times."""
        if queue is None:
            return self._batcher.call_alone(self._function, columns)
        tensors = [tf.constant(columns[name]) for name in self._inputs]
        try:
            *outputs, times = self._queued(
                tf.constant(queue, tf.int32), *tensors
            )
        except Exception:  # of whatever type: another row may be to blame
            return self._batcher.call_alone(self._function, columns)
        arrays = [x.numpy() for x in outputs]
        return dict(zip(self._outputs, arrays, strict=True)), times.numpy()

    def _queue(self, kind):
        """Returns the number of a queue, or None if there are too many.

        A queue is of rows of the same shape: a client chooses the shapes.
        """
        if kind not in self._queues and len(self._queues) < self._num_queues:
            self._queues[kind] = len(self._queues)
        return self._queues.get(kind)

    def _with_times(self, *tensors):
        start = tf.timestamp()
        with tf.control_dependencies([start]):
            tensors = [tf.identity(x) for x in tensors]
        outputs = self._function(
            **dict(zip(self._inputs, tensors, strict=True))
        )
        outputs = [outputs[name] for name in self._outputs]
        with tf.control_dependencies(outputs):
            end = tf.timestamp()
        size = tf.shape(tensors[0])[0]
        position = tf.cast(tf.range(size), tf.float64)
        times = [start, end, position, tf.cast(size, tf.float64)]
        times = [x + tf.zeros_like(position) for x in times]
        return [*outputs, tf.stack(times, axis=1)]


def num_rows(columns: Columns) -> int:
    """Returns how many rows a request has; a single value is a row."""
    return max(x.shape[0] if x.ndim else 1 for x in columns.values())


def _row_bytes(array):
    lengths = np.array([len(x) for x in array.reshape(-1)], int)
    return lengths.reshape(array.shape).sum(axis=tuple(range(1, array.ndim)))
