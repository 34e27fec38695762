"""Rows of many requests go through the model together."""

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from keras_bert.server.config import ServerConfig

Columns = Mapping[str, np.ndarray]


class Rows(NamedTuple):
    """Some rows of a request.

    Attributes:
        function: Answers them, together with other requests of the queue.
        places: Their places in the request.
        columns: Their values, by name.
        queue: Rows of one queue may be answered together; None if these rows
            are answered alone.
    """

    function: Callable[[Columns], Columns]
    places: np.ndarray
    columns: Columns
    queue: Hashable = None


class Answered(NamedTuple):
    """What the model answered to some rows of a request.

    Attributes:
        places: Their places in the request.
        outputs: Arrays, by name.
        begin: When the model began.
        batch: The seconds that the model took, and its number of rows. Of the
            requests that share a call, only the first one has it.
    """

    places: np.ndarray
    outputs: Columns
    begin: float
    batch: tuple[float, int] | None


class Batcher:
    """Answers rows in threads; the rows of one queue are answered together.

    A call begins when a thread is free and the first row has waited for
    `batch_timeout_ms`, or when there are `max_batch_size` rows.
    """

    def __init__(self, config: ServerConfig):
        self._max_rows = config.max_batch_size
        self._seconds = config.batch_timeout_ms / 1000
        self._turns = asyncio.Semaphore(config.num_batch_threads)
        self._threads = ThreadPoolExecutor(config.num_batch_threads)
        # What waits, the oldest first; each queue has at least one entry.
        self._queues: dict[Hashable, dict[asyncio.Future, Rows]] = {}
        self._tasks: set[asyncio.Task] = set()

    async def answer(self, rows: Rows) -> Answered:
        """Waits for the answer; raises what the function raises."""
        answer = asyncio.get_running_loop().create_future()
        name = answer if rows.queue is None else rows.queue
        queue = self._queues.setdefault(name, {})
        queue[answer] = rows
        is_full = max(len(queue), len(rows.places)) >= self._max_rows
        seconds = 0 if is_full or rows.queue is None else self._seconds
        task = asyncio.create_task(self._see_to(answer, name, queue, seconds))
        self._tasks.add(task)  # the loop itself does not keep it
        task.add_done_callback(self._tasks.discard)
        return await answer

    def close(self) -> None:
        """Drops what still waits."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _see_to(self, answer, name, queue, seconds):
        """Asks the model until a call has this entry of a queue."""
        await asyncio.sleep(seconds)
        while answer in queue:
            async with self._turns:
                if answer not in queue:
                    return
                batch = self._taken_from(queue)
                if not queue:
                    del self._queues[name]
                loop = asyncio.get_running_loop()
                answered = await loop.run_in_executor(
                    self._threads, _answers, list(batch.values())
                )
            for waiting, found in zip(batch, answered, strict=True):
                if waiting.done():  # the client has left
                    continue
                if isinstance(found, BaseException):
                    waiting.set_exception(found)
                else:
                    waiting.set_result(found)

    def _taken_from(self, queue):
        batch: dict[asyncio.Future, Rows] = {}
        num_rows = 0
        for answer, rows in list(queue.items()):
            num_rows += len(rows.places)
            if batch and num_rows > self._max_rows:
                break
            batch[answer] = queue.pop(answer)
        return batch


def _answers(batch: Sequence[Rows]) -> list[Answered | BaseException]:
    """Answers rows in one call; if that fails, in one call for each request."""
    start = time.monotonic()
    sizes = [len(rows.places) for rows in batch]
    try:
        if len(batch) == 1:
            outputs = [batch[0].function(batch[0].columns)]
        else:
            joined = {
                name: np.concatenate([rows.columns[name] for rows in batch])
                for name in batch[0].columns
            }
            outputs = _split(batch[0].function(joined), sizes)
    except BaseException as error:
        if len(batch) == 1:
            return [error]
        return [x for rows in batch for x in _answers([rows])]
    calls = [(time.monotonic() - start, sum(sizes)), *[None] * len(batch)]
    return [
        Answered(rows.places, mine, start, call)
        for rows, mine, call in zip(batch, outputs, calls, strict=False)
    ]


def _split(outputs, sizes):
    """Returns the outputs of each request."""
    if any(len(x) != sum(sizes) for x in outputs.values()):
        raise ValueError("The outputs are not one for each row.")
    ends = np.cumsum(sizes)
    return [
        {name: x[end - size : end] for name, x in outputs.items()}
        for end, size in zip(ends, sizes, strict=True)
    ]


def num_rows(columns: Columns) -> int:
    """Returns how many rows a request has; a single value is a row."""
    return max(x.shape[0] if x.ndim else 1 for x in columns.values())


def row_lengths(column: np.ndarray, length: Callable = len) -> np.ndarray:
    """Returns how long the strings of each row are, in bytes by default."""
    lengths = np.array([length(x) for x in column.ravel()], int)
    return lengths.reshape(column.shape).sum(axis=tuple(range(1, column.ndim)))
