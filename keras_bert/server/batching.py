"""Rows of many requests go through the model together.

The batcher is TensorFlow's own, the one of tf.nondifferentiable_batch_function.
That function makes new threads for each function that it wraps; the operation
beneath it lets all signatures of all models share the same few.
"""

from __future__ import annotations

import functools
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.server.config import ServerConfig

Columns = Mapping[str, np.ndarray]


class Batcher:
    """Calls functions, as many at a time as there are batch threads.

    `times` are float64 [rows, 4]: when the batch started and ended, in seconds
    since 1970, the row's place in the batch, and the batch's size.
    """

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

    def queued(self, function, inputs, num_queues: int):
        """Returns a function of a queue and tensors, whose rows wait in it.

        It returns the outputs, and their times.

        Args:
            function: A function of tensors, whose first axis has the rows.
            inputs: Their specifications.
            num_queues: Rows in different queues are never in one batch.
        """
        # A process has one queue of a name.
        name = uuid.uuid4().hex
        timed = tf.function(
            functools.partial(_with_times, function),
            input_signature=inputs,
            autograph=False,
        ).get_concrete_function()

        def wait_in(number, tensors):
            return tf.raw_ops.BatchFunction(
                in_tensors=tensors,
                captured_tensors=timed.captured_inputs,
                f=timed,
                Tout=[output.dtype for output in timed.outputs],
                batching_queue=f"{name}/{number}",
                **self._options,
            )

        # One function for all queues, because TensorFlow optimizes the graph
        # of the model again for each function that calls it.
        return tf.function(
            lambda queue, *tensors: tf.switch_case(
                queue,
                [
                    functools.partial(wait_in, number, list(tensors))
                    for number in range(num_queues)
                ],
            ),
            input_signature=[tf.TensorSpec([], tf.int32), *inputs],
            autograph=False,
        ).get_concrete_function()

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
        times = np.array([[start, end, row, size] for row in range(size)])
        return outputs, times.reshape(size, 4)


def _with_times(function, *tensors):
    start = tf.timestamp()
    with tf.control_dependencies([start]):
        tensors = [tf.identity(x) for x in tensors]
    outputs = function(*tensors)
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


def row_bytes(column: np.ndarray) -> np.ndarray:
    """Returns how many bytes the strings of each row have."""
    lengths = np.array([len(x) for x in column.ravel()], int)
    return lengths.reshape(column.shape).sum(axis=tuple(range(1, column.ndim)))
