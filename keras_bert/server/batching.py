"""Rows of many requests -> calls of the model, in which requests take turns."""

import asyncio
import dataclasses
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from keras_bert.predict.function import Columns
from keras_bert.server.config import ServerConfig
from keras_bert.server.rows import BYTES_PER_CALL, Answered, Rows

Answers = list[Answered | BaseException]


@dataclasses.dataclass(eq=False)
class _Request:
    """A request; the last of its waiting `parts` is answered next."""

    parts: list[Rows]
    num_parts: int
    answer: asyncio.Future[Answers]
    answers: Answers = dataclasses.field(default_factory=list)


_Batch = list[tuple[_Request, Rows]]  # the parts of a call


class Batcher:
    """Answers rows in threads; one call of the model can answer many requests.

    Requests take turns: once a part of a request is taken, the request goes
    behind all other requests. A call takes parts in the order of the turns, as
    long as the parts fit and have the same `queue`. The call begins when a
    thread is free and the first request has waited for `batch_timeout_ms`. A
    request in several parts does not wait for this time.
    """

    def __init__(self, config: ServerConfig):
        self._max_rows = config.max_batch_size
        self._seconds = config.batch_timeout_ms / 1000
        self._num_free = config.num_batch_threads
        self._threads = ThreadPoolExecutor(config.num_batch_threads)
        # The requests with waiting parts, in the order of their turns.
        self._requests: list[_Request] = []

    def answer(self, parts: Iterable[Rows]) -> asyncio.Future[Answers]:
        """Returns a future of the answers to all parts, in order of completion.

        If answering a part raises an error, the error is the answer. If the
        future is cancelled, no further part is answered.
        """
        loop = asyncio.get_running_loop()
        waiting = list(parts)[::-1]
        request = _Request(waiting, len(waiting), loop.create_future())
        self._requests.append(request)
        is_full = (
            len(self._requests) >= self._max_rows
            or len(waiting) > 1
            or waiting[0].queue is None
        )
        loop.call_later(0 if is_full else self._seconds, self._begin_calls)
        return request.answer

    def close(self) -> None:
        """Drops the parts that are still waiting."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin_calls(self) -> None:
        while self._num_free and (batch := self._next_call()):
            self._num_free -= 1
            loop = asyncio.get_running_loop()
            self._threads.submit(self._call, loop, batch)

    def _call(self, loop: asyncio.AbstractEventLoop, batch: _Batch) -> None:
        answers = _answers([rows for _, rows in batch])
        loop.call_soon_threadsafe(self._end_call, batch, answers)

    def _end_call(self, batch: _Batch, answers: Answers) -> None:
        self._num_free += 1
        for (request, _), answer in zip(batch, answers, strict=True):
            request.answers.append(answer)
            is_whole = len(request.answers) == request.num_parts
            if is_whole and not request.answer.done():
                request.answer.set_result(request.answers)
        self._begin_calls()

    def _next_call(self) -> _Batch:
        """Removes and returns the parts of the next call, with their requests.

        The result is empty if no part waits.
        """
        batch: _Batch = []
        queue, num_rows, num_bytes = None, 0, 0
        # Requests in `left` do not fit into this call. They come first in the
        # next call.
        turns, left = [x for x in self._requests if not x.answer.done()], []
        for request in turns:
            rows = request.parts[-1]
            all_rows = num_rows + len(rows.places)
            all_bytes = num_bytes + rows.num_bytes
            fits = all_rows <= self._max_rows and all_bytes <= BYTES_PER_CALL
            can_join = fits and queue is not None and queue == rows.queue
            if batch and not can_join:
                left.append(request)
                continue
            queue, num_rows, num_bytes = rows.queue, all_rows, all_bytes
            batch.append((request, request.parts.pop()))
            if request.parts:
                turns.append(request)
        self._requests = left
        return batch


def _answers(batch: Sequence[Rows]) -> Answers:
    """Returns the answers to the parts of several requests, from one call.

    If the call fails, each part gets a call of its own.
    """
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


def _split(outputs: Columns, sizes: list[int]) -> list[Columns]:
    """Returns the outputs of each part, cut from the outputs of their call."""
    if any(len(x) != sum(sizes) for x in outputs.values()):
        raise ValueError("The model did not return one output for each row.")
    ends = np.cumsum(sizes)
    return [
        {name: x[end - size : end] for name, x in outputs.items()}
        for end, size in zip(ends, sizes, strict=True)
    ]
